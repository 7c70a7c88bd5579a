# SPDX-License-Identifier: MIT
# expect: reject map_bounds 11
find @counts
ldxdw %r1, [%r0]
jeq %r1, 0, one
add %r0, 60 # near: add %r0, 56
ja +0
one:
ldxdw %r2, [%r0]
