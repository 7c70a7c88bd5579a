# SPDX-License-Identifier: MIT
# What the low half is bounded by says nothing of the whole.
# expect: reject pointer_range 12
mov %r6, %r1
find @counts
ldxdw %r2, [%r6+8]
mov %r4, %r2
mov32 %r3, %r2 # near: mov %r3, %r2
jgt %r3, 4, out
add %r0, %r2
ldxb %r2, [%r0]
