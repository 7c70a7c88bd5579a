# SPDX-License-Identifier: MIT
# expect: reject map_bounds 12
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxw %r1, [%r0]
and %r1, 0x1f0
stxb [%r10-8], %r1
ldxb %r3, [%r10-8] # near: ldxb %r3, [%r10-4]
add %r0, %r3
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
