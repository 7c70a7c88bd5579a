# SPDX-License-Identifier: MIT
# expect: reject map_bounds 7
find @counts
ldxb %r1, [%r0+64] # near: ldxb %r1, [%r0+63]
