# SPDX-License-Identifier: MIT
# expect: reject map_bounds 18
find @counts
ldxw %r1, [%r0]
mov %r3, 3
jgt %r1, 9, small
mov %r3, 100
small:
stxb [%r10-8], %r3
mov %r3, 0
jgt %r1, 5, join
mov %r4, 0
join:
mov %r4, 0
ldxb %r3, [%r10-8] # near: ldxb %r3, [%r10-4]
add %r0, %r3
ldxb %r2, [%r0]
