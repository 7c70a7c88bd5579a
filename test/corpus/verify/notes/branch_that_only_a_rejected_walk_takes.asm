# SPDX-License-Identifier: MIT
# A walk that widens the counter is rejected: there the branch has both
# outcomes and the divisor may be 0. The walk of each iteration is accepted.
# note: dead_branch 18
mov %r6, %r1
stdw [%r10-8], 0
mov %r1, 4
lddw func %r2, cb
mov %r3, %r10
add %r3, -8
mov %r4, 0
call 181
ldxdw %r1, [%r10-8]
lddw map_value %r2, @rodata, 0
add %r2, %r1
ldxb %r1, [%r2]
stw [%r6+76], 4
mov %r0, 0
exit
cb:
ldxdw %r3, [%r2]
jgt %r3, 9, +1 # near: jgt %r3, 2, +1
mov %r5, 0
mov %r4, 100
add %r3, 1
div %r4, %r3
stxdw [%r2], %r3
mov %r0, 0
exit
