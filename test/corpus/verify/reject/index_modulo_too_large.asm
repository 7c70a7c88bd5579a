# SPDX-License-Identifier: MIT
# expect: reject map_bounds 10
find @counts
ldxdw %r1, [%r0]
mod %r1, 65 # near: mod %r1, 64
add %r0, %r1
ldxb %r2, [%r0]
