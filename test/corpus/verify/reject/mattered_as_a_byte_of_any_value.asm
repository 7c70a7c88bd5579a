# SPDX-License-Identifier: MIT
# expect: reject map_bounds 16
# On the way walked first the byte is bounded, on the other it is not.
find @counts
ldxw %r1, [%r0]
ldxw %r2, [%r0+4]
stxb [%r10-8], %r2
jgt %r1, 9, join
and %r2, 31
stxb [%r10-8], %r2
join:
mov %r2, 0
ldxb %r3, [%r10-8] # near: ldxb %r3, [%r10-4]
add %r0, %r3
ldxb %r2, [%r0]
