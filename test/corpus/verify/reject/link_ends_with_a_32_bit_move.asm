# SPDX-License-Identifier: MIT
# What the low half is bounded by says nothing of the whole.
# expect: reject pointer_range 12
mov %r6, %r1
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r2, [%r6+8]
mov %r4, %r2
mov32 %r3, %r2 # near: mov %r3, %r2
jgt %r3, 4, out
add %r0, %r2
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
