# SPDX-License-Identifier: MIT
# expect: reject map_bounds 9
# A byte of a spilled number is the whole number only on the way where it is
# small.
ldxw %r2, [%r1+24]
mov %r3, 511 # near: mov %r3, 512
jeq %r2, 0, join
mov %r3, 4
join:
stxdw [%r10-8], %r3
ldxb %r5, [%r10-8]
read_at @bss, 0, %r5
mov %r0, 0
exit
