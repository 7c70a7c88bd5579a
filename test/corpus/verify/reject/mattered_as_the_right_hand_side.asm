# SPDX-License-Identifier: MIT
# expect: reject map_bounds 8
# What the number is compared with decides.
ldxw %r2, [%r1+24]
mov %r3, 2 # near: mov %r3, 5
jeq %r2, 0, join
mov %r3, 10
join:
mov %r5, 4
jlt %r5, %r3, safe
lddw map_value %r4, @bss, 0
ldxb %r0, [%r4+64]
safe:
mov %r0, 0
exit
