# SPDX-License-Identifier: MIT
# expect: reject pointer_range 13
# A 32-bit copy is the same number only where the number is small.
ldxdw %r8, [%r1]
ldxw %r2, [%r1+24]
ldxdw %r3, [%r1+8]
jeq %r2, 0, join
jgt %r3, 1000, out
mov %r8, %r3
mov %r3, 0
ja next
join:
mov %r3, 0
next:
mov32 %r5, %r8 # near: mov %r5, %r8
jgt %r5, 60, out
read_at @bss, 0, %r8
