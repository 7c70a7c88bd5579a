# SPDX-License-Identifier: MIT
# They were 0 before the address came there.
# expect: reject map_bounds 7
stdw [%r10-8], 0
stxdw [%r10-8], %r1 # near: stxdw [%r10-16], %r1
stb [%r10-1], 1
lddw map_value %r4, @bss, 63
ldxb %r5, [%r10-2]
add %r4, %r5
ldxb %r0, [%r4]
mov %r0, 0
exit
