# SPDX-License-Identifier: MIT
# expect: reject map_bounds 11
# The same, scaled and copied before it is used.
ldxw %r2, [%r1+24]
mov %r3, 40
jeq %r2, 0, join
mov %r3, 4
join:
mov %r5, %r3
lsh %r5, 1 # near: lsh %r5, 0
add %r5, 3
mov %r3, 0
read_at @bss, 0, %r5
mov %r0, 0
exit
