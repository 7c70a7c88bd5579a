# SPDX-License-Identifier: MIT
# expect: reject map_bounds 10
find @counts
ldxdw %r1, [%r0]
jgt %r1, 64, out # near: jgt %r1, 63, out
add %r0, %r1
ldxb %r2, [%r0]
