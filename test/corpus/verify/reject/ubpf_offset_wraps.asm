# SPDX-License-Identifier: MIT
# ubpf: the sum of an offset of 2^64 - 4 and a size of 8 is 4, which is small
# expect: reject map_bounds 10
mov %r6, 0
stxw [%r10-4], %r6
lddw map %r1, @counts
mov %r2, %r10
add %r2, -4
call 1
jeq %r0, 0, out
mov %r1, -4 # near: mov %r1, 0
add %r0, %r1
ldxdw %r6, [%r0+0]
