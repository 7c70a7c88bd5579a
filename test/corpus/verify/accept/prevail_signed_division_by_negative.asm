# SPDX-License-Identifier: MIT
# twin: the quotient tested on both sides
# expect: accept
find @counts
ldxdw %r1, [%r0]
and %r1, 3
mov %r2, -1
sub %r2, %r1
mov %r1, -7
sdiv %r1, %r2
jsgt %r1, 7, out
jslt %r1, 0, out
add %r0, %r1
ldxb %r2, [%r0]
