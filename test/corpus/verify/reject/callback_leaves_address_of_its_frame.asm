# SPDX-License-Identifier: MIT
# golden
# expect: reject stack_escape 10
stdw [%r10-8], 0
mov %r1, 2
lddw func %r2, cb
mov %r3, %r10
add %r3, -8
mov %r4, 0
call 181
mov %r0, 0
exit
cb:
stxdw [%r2], %r10 # near: stdw [%r2], 1
mov %r0, 0
exit
