# SPDX-License-Identifier: MIT
# expect: reject map_bounds 10
# A spilled number becomes bytes when one of them is overwritten.
ldxw %r2, [%r1+24]
mov %r3, 65280
jeq %r2, 0, join
mov %r3, 0
join:
stxw [%r10-8], %r3
stb [%r10-8], 0 # near: stb [%r10-7], 0
ldxw %r5, [%r10-8]
read_at @bss, 0, %r5
mov %r0, 0
exit
