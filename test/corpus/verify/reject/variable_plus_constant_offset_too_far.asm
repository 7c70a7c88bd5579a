# SPDX-License-Identifier: MIT
# expect: reject map_bounds 10
find @counts
ldxdw %r1, [%r0]
and %r1, 31 # near: and %r1, 30
add %r0, %r1
ldxb %r2, [%r0+33]
