# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
mov %r2, %r1
jgt %r2, 63, out
add %r0, %r1
ldxb %r2, [%r0]
