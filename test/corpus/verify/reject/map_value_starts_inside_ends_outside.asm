# SPDX-License-Identifier: MIT
# expect: reject map_bounds 7
find @counts
ldxdw %r1, [%r0+60] # near: ldxdw %r1, [%r0+56]
