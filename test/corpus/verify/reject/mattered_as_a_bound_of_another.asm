# SPDX-License-Identifier: MIT
# expect: reject map_bounds 9
# An unknown number is bounded by it.
ldxw %r2, [%r1+24]
mov %r3, 600 # near: mov %r3, 0
jeq %r2, 0, join
mov %r3, 60
join:
ldxdw %r5, [%r1]
jge %r5, %r3, out
read_at @bss, 0, %r5
