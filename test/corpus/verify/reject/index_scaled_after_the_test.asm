# SPDX-License-Identifier: MIT
# expect: reject map_bounds 11
find @counts
ldxdw %r1, [%r0]
jgt %r1, 15, out # near: jgt %r1, 7, out
lsh %r1, 3
add %r0, %r1
ldxdw %r2, [%r0]
