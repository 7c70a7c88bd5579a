# SPDX-License-Identifier: MIT
# The upper half of r1 does not count: bpf_loop takes 32 bits.
# expect: reject map_bounds 18
ldxdw %r6, [%r1+8]
stw [%r10-4], 0
lddw map %r1, @counts
mov %r2, %r10
add %r2, -4
call 1
jeq %r0, 0, out
mov %r3, %r0
mov %r1, %r6
lsh %r1, 5 # near: lsh %r1, 37
lddw func %r2, cb
mov %r4, 0
call 181
out:
mov %r0, 0
exit
cb:
add %r2, %r1
stb [%r2], 1
mov %r0, 0
exit
