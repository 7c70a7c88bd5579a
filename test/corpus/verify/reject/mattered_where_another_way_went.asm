# SPDX-License-Identifier: MIT
# expect: reject map_bounds 13
# The way walked first brought the same number by another route; what mattered
# then matters for this one.
ldxw %r2, [%r1+24]
mov %r3, 4
jeq %r2, 0, other
ja common
other:
ldxw %r2, [%r1+28]
mov %r3, 400 # near: mov %r3, 0
jeq %r2, 0, join
mov %r3, 4
join:
mov %r2, 0
common:
mov %r2, 0
read_at @bss, 0, %r3
mov %r0, 0
exit
