# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
mov %r2, %r1
add %r2, 4
jgt %r1, 59, out
add %r0, %r2
ldxb %r2, [%r0]
