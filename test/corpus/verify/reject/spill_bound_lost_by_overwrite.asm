# SPDX-License-Identifier: MIT
# expect: reject pointer_range 13
find @counts
ldxdw %r1, [%r0]
and %r1, 63
stxdw [%r10-16], %r1
ldxdw %r4, [%r0]
stxw [%r10-12], %r4 # near: stxw [%r10-8], %r4
ldxdw %r3, [%r10-16]
add %r0, %r3
ldxb %r2, [%r0]
