# SPDX-License-Identifier: MIT
# known low halves do not make the bounds of the result known
# expect: reject map_bounds 14
find @counts
ldxdw %r1, [%r0]
lddw %r2, 0x1ffffffff # near: lddw %r2, 8589934592
and %r1, %r2
mov32 %r3, %r1
and32 %r3, -1
add %r0, %r3
ldxb %r2, [%r0]
