# SPDX-License-Identifier: MIT
# expect: reject pointer_range 10
find @counts
ldxdw %r1, [%r0]
jgt %r1, 63, out
ldxdw %r1, [%r0] # near:
add %r0, %r1
ldxb %r2, [%r0]
