# SPDX-License-Identifier: MIT
# expect: reject pointer_range 11
find @counts
ldxdw %r1, [%r0]
mov %r2, %r1
mul %r2, 2
jgt %r2, 63, out # near: jgt %r1, 63, out
add %r0, %r1
ldxb %r2, [%r0]
