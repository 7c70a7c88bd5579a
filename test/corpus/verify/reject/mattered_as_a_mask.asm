# SPDX-License-Identifier: MIT
# expect: reject map_bounds 9
# Two ways meet with different masks; an unknown number is bounded by the mask.
ldxw %r2, [%r1+24]
mov %r3, 4095 # near: mov %r3, 0
jeq %r2, 0, join
mov %r3, 63
join:
ldxdw %r5, [%r1]
and %r5, %r3
read_at @bss, 0, %r5
mov %r0, 0
exit
