# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
and %r1, 15
mov %r2, 0
loop:
jge %r2, %r1, out
mov %r3, %r0
add %r3, %r2
ldxb %r4, [%r3]
add %r2, 1
ja loop
