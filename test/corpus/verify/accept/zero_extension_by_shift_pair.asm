# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
lsh %r1, 32
rsh %r1, 32
jgt %r1, 63, out
add %r0, %r1
ldxb %r2, [%r0]
