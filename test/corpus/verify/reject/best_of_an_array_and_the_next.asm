# SPDX-License-Identifier: MIT
# expect: reject map_bounds 20
find @counts
mov %r6, %r0
mov %r7, 0
mov %r8, 0
mov %r9, 0
l:
mov %r1, %r6
add %r1, %r7
ldxb %r2, [%r1]
jle %r2, %r9, n
mov %r9, %r2
mov %r8, %r7
n:
add %r7, 1
jlt %r7, 64, l
add %r6, %r8
ldxb %r1, [%r6+1] # near: ldxb %r1, [%r6]
