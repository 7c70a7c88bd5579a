# SPDX-License-Identifier: MIT
# expect: reject map_bounds 19
# The way walked first wrote zero bytes, this one spilled a number that is 0.
ldxw %r2, [%r1+24]
mov %r3, 0
stb [%r10-8], 0
stb [%r10-7], 0
stb [%r10-6], 0
stb [%r10-5], 0
jeq %r2, 0, other
ja common
other:
ldxw %r2, [%r1+28]
mov %r3, 400
jeq %r2, 0, join
mov %r3, 0
join:
stxw [%r10-8], %r3 # near: stxw [%r10-4], %r3
common:
mov %r3, 0
mov %r2, 0
ldxw %r5, [%r10-8]
read_at @bss, 0, %r5
mov %r0, 0
exit
