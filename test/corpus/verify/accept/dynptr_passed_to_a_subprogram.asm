# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
mov %r1, %r10
add %r1, -16
call local f
mov %r0, 0
exit
f:
mov %r6, %r1
mov %r2, 0
mov %r3, 8
call 203
jeq %r0, 0, no
stdw [%r0], 1
no:
mov %r1, %r6
mov %r2, 0
call 199
mov %r0, 0
exit
