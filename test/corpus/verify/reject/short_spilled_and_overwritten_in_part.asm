# SPDX-License-Identifier: MIT
# expect: reject map_bounds 13
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxw %r1, [%r0]
mod %r1, 63
stxh [%r10-8], %r1
stb [%r10-7], 1 # near: stb [%r10-6], 1
ldxh %r3, [%r10-8]
add %r0, %r3
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
