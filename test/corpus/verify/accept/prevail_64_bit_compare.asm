# SPDX-License-Identifier: MIT
# twin of prevail_32_bit_compare
# expect: accept
find @counts
ldxdw %r1, [%r0]
jgt %r1, 7, out
add %r0, %r1
ldxb %r2, [%r0]
