# SPDX-License-Identifier: MIT
# expect: reject map_bounds 9
# What is left of an unknown number by a remainder came from the divisor.
ldxw %r2, [%r1+24]
mov %r3, 400 # near: mov %r3, 1
jeq %r2, 0, join
mov %r3, 16
join:
ldxdw %r5, [%r1]
mod %r5, %r3
read_at @bss, 0, %r5
mov %r0, 0
exit
