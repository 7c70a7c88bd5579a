# SPDX-License-Identifier: MIT
# expect: reject map_bounds 10
# The same, and the distance differs.
ldxdw %r8, [%r1]
ldxw %r2, [%r1+24]
mov %r9, %r8
add %r9, -100 # near: add %r9, 0
jeq %r2, 0, join
mov %r9, %r8
join:
jgt %r9, 60, out
read_at @bss, 0, %r8
