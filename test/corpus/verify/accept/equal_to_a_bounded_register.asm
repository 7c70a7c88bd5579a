# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
ldxb %r3, [%r0]
and %r3, 63
jne %r1, %r3, out
add %r0, %r1
ldxb %r2, [%r0]
