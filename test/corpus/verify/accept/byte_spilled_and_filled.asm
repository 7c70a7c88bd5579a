# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxw %r1, [%r0]
and %r1, 63
stxb [%r10-8], %r1
ldxb %r3, [%r10-8]
add %r0, %r3
ldxb %r2, [%r0]
