# SPDX-License-Identifier: MIT
# What r8 says of the byte on the stack, it says on one way alone.
# expect: reject map_bounds 27
ldxw %r7, [%r1+28]
ldxdw %r8, [%r1]
and %r8, 255
stdw [%r10-32], 48
mov %r1, %r10
add %r1, -32
mov %r2, 8
mov %r3, 10
mov %r4, %r10
add %r4, -16
call 105
jeq %r7, 3, s
stxb [%r10-16], %r8
s:
mov %r7, 0
mov %r0, 0
jgt %r8, 7, out
lookup @counts
jne %r0, 0, +2
mov %r0, 0
exit
ldxb %r1, [%r10-16] # near: ldxb %r1, [%r10-4]
add %r0, %r1
ldxb %r1, [%r0]
