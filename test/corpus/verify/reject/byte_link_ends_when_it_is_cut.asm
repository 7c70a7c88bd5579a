# SPDX-License-Identifier: MIT
# expect: reject map_bounds 13
find @counts
ldxw %r1, [%r0]
stxb [%r10-8], %r1
jgt %r1, 60, out
and %r1, 255
ldxb %r3, [%r10-8] # near: ldxb %r3, [%r10-4]
add %r0, %r3
ldxb %r2, [%r0]
