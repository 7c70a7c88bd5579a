# SPDX-License-Identifier: MIT
# The byte is 5 on one way and anything on the other.
# expect: reject map_bounds 24
ldxw %r7, [%r1+28]
stdw [%r10-32], 48
mov %r1, %r10
add %r1, -32
mov %r2, 8
mov %r3, 10
mov %r4, %r10
add %r4, -16
call 105
jeq %r7, 3, s
stb [%r10-16], 5
s:
mov %r7, 0
mov %r0, 0
lookup @counts
jne %r0, 0, +2
mov %r0, 0
exit
ldxb %r1, [%r10-16] # near: ldxb %r1, [%r10-4]
add %r0, %r1
ldxb %r1, [%r0]
mov %r0, 0
exit
