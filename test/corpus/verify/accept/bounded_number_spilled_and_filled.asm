# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
and %r1, 63
stxdw [%r10-16], %r1
ldxdw %r3, [%r10-16]
add %r0, %r3
ldxb %r2, [%r0]
