# SPDX-License-Identifier: MIT
# 64-bit bounds beyond 32 bits say nothing of the low half
# expect: reject map_bounds 14
find @counts
ldxdw %r1, [%r0]
lddw %r2, 0x100000001 # near: lddw %r2, 1
jgt %r1, %r2, out
jlt %r1, 1, out
mov32 %r3, %r1
add %r0, %r3
ldxb %r2, [%r0]
