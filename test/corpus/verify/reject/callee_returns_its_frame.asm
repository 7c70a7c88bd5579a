# SPDX-License-Identifier: MIT
# expect: reject stack_escape 5
# near: mov %r1, %r10
# near: stdw [%r10-8], 0
call local f
ldxb %r1, [%r0-1]
mov %r0, 0
exit
f:
mov %r0, %r10 # near: mov %r0, %r1
exit
