# SPDX-License-Identifier: MIT
# expect: reject pointer_range 14
find @counts
ldxdw %r1, [%r0]
ldxdw %r3, [%r0+8]
jeq %r3, 1, b
mov %r2, %r1
ja j
b:
ldxdw %r2, [%r0+16]
j:
jgt %r1, 63, out # near: jgt %r2, 63, out
add %r0, %r2
ldxb %r4, [%r0]
