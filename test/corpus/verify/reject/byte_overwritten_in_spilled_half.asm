# SPDX-License-Identifier: MIT
# expect: reject map_bounds 14
mov %r6, %r1
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxw %r2, [%r6+28]
and %r2, 3
stxw [%r10-16], %r2
stb [%r10-15], 1 # near: stb [%r10-16], 1
ldxw %r3, [%r10-16]
add %r0, %r3
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
