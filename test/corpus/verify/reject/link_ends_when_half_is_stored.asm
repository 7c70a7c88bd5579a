# SPDX-License-Identifier: MIT
# expect: reject pointer_range 12
mov %r6, %r1
find @counts
ldxdw %r2, [%r6+8] # near: ldxb %r2, [%r6+8]
stxw [%r10-16], %r2
ldxw %r3, [%r10-16]
jgt %r3, 4, out
add %r0, %r2
ldxb %r2, [%r0]
