# SPDX-License-Identifier: MIT
# expect: reject map_bounds 15
# The upper half of a number spilled before the ways meet; the lower half is
# overwritten after.
ldxw %r2, [%r1+24]
mov %r3, 400
jeq %r2, 0, +1 # near: jeq %r2, 0, +0
mov %r3, 4
lsh %r3, 32
stxdw [%r10-8], %r3
mov %r3, 0
ldxw %r2, [%r1+28]
jeq %r2, 0, join
mov %r2, 0
join:
stw [%r10-8], 0
ldxw %r5, [%r10-4]
read_at @bss, 0, %r5
mov %r0, 0
exit
