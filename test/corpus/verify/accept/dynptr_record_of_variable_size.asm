# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
ldxw %r2, [%r1+32]
lddw map %r1, @ring
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
stdw [%r10-24], 5
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, %r10
add %r3, -24
mov %r4, 8
mov %r5, 0
call 202
mov %r1, %r10
add %r1, -16
mov %r2, 0
call 199
mov %r0, 0
exit
