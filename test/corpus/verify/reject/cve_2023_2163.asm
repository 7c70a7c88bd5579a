# SPDX-License-Identifier: MIT
# a stored state answers only for states it really covers
# expect: reject map_bounds 19
find @counts
ldxdw %r6, [%r0]
mov %r7, 0
ldxdw %r8, [%r0+8]
jgt %r6, 1, a
ja b
a:
mov %r7, 70
b:
mov %r9, 0
jgt %r8, 1, c
ja d
c:
mov %r9, 1 # near: mov %r9, 0
d:
jne %r9, 1, out
add %r0, %r7
ldxb %r1, [%r0]
