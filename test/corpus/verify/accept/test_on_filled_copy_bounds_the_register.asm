# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
stxdw [%r10-16], %r1
ldxdw %r3, [%r10-16]
jgt %r3, 63, out
add %r0, %r1
ldxb %r2, [%r0]
