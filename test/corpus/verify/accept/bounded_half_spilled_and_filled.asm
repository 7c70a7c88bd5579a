# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxw %r1, [%r0]
and %r1, 63
stxw [%r10-12], %r1
ldxw %r3, [%r10-12]
add %r0, %r3
ldxb %r2, [%r0]
