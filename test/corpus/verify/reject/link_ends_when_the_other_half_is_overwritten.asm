# SPDX-License-Identifier: MIT
# The high half of a spilled number is not that number.
# expect: reject pointer_range 13
mov %r6, %r1
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r2, [%r6+8]
stxdw [%r10-16], %r2
stw [%r10-16], 0
ldxw %r3, [%r10-12]
jgt %r3, 4, out # near: jgt %r2, 4, out
add %r0, %r2
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
