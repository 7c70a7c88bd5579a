# SPDX-License-Identifier: MIT
# an immediate of -1 is stored as 8 bytes of ones
# expect: reject map_bounds 10
stdw [%r10-16], -1 # near: stdw [%r10-16], +0
find @counts
ldxdw %r1, [%r10-16]
add %r0, %r1
ldxb %r2, [%r0]
