# SPDX-License-Identifier: MIT
# 7 by -1 to -4 is -7 to -1
# expect: reject map_bounds 14
find @counts
ldxdw %r1, [%r0]
and %r1, 3
mov %r2, -1 # near: mov %r2, 6
sub %r2, %r1
mov %r1, 7
sdiv %r1, %r2
add %r0, %r1
ldxb %r2, [%r0]
