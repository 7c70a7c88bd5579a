# SPDX-License-Identifier: MIT
# The low half of a spilled number is not that number.
# expect: reject pointer_range 13
mov %r6, %r1
find @counts
ldxdw %r2, [%r6+8]
stxdw [%r10-16], %r2
stw [%r10-12], 0
ldxw %r3, [%r10-16]
jgt %r3, 4, out # near: jgt %r2, 4, out
add %r0, %r2
ldxb %r2, [%r0]
