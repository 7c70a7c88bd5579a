# SPDX-License-Identifier: MIT
# expect: reject map_bounds 7
# Two ways meet; the one walked second brings a number that is too large.
ldxw %r2, [%r1+24]
mov %r3, 400 # near: mov %r3, 0
jeq %r2, 0, join
mov %r3, 4
join:
read_at @bss, 0, %r3
mov %r0, 0
exit
