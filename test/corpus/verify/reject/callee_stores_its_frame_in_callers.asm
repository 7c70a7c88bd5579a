# SPDX-License-Identifier: MIT
# expect: reject stack_escape 4
mov %r1, %r10
call local f
mov %r0, 0
exit
f:
stxdw [%r1-8], %r10 # near: stxdw [%r10-8], %r10
exit
