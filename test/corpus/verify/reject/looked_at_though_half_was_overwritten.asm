# SPDX-License-Identifier: MIT
# expect: reject map_bounds 14
# A byte overwritten leaves the others.
ldxw %r2, [%r1+24]
mov %r3, 0xff00
jeq %r2, 0, +1 # near: jeq %r2, 0, +0
mov %r3, 0
stxw [%r10-8], %r3
ldxw %r2, [%r1+28]
mov %r3, 0
jeq %r2, 0, join
mov %r2, 0
join:
stb [%r10-8], 0
ldxw %r5, [%r10-8]
read_at @bss, 0, %r5
mov %r0, 0
exit
