# SPDX-License-Identifier: MIT
# expect: reject map_bounds 9
# An unknown number on the right of a comparison is bounded by it.
ldxw %r2, [%r1+24]
mov %r3, 600 # near: mov %r3, 0
jeq %r2, 0, join
mov %r3, 60
join:
ldxdw %r5, [%r1]
jle %r3, %r5, out
read_at @bss, 0, %r5
