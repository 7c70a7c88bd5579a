# SPDX-License-Identifier: MIT
# expect: accept
lookup @counts, 4
stxdw [%r10-16], %r0
ldxdw %r1, [%r10-16]
jeq %r1, 0, out
ldxdw %r2, [%r10-16]
ldxdw %r3, [%r2]
ldxdw %r3, [%r0]
