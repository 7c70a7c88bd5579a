# SPDX-License-Identifier: MIT
# a 32-bit OR takes its bounds from the low halves
# expect: reject map_bounds 14
find @counts
ldxdw %r1, [%r0]
lddw %r2, 0x600000002 # near: lddw %r2, 8
jge %r1, %r2, out
jeq %r1, 0, out
or32 %r1, 0
add %r0, %r1
ldxb %r2, [%r0]
