# SPDX-License-Identifier: MIT
# expect: reject local_output 8
# flow: stack
# Coherent on the way walked first, local on the other.
ldxw %r2, [%r1+24]
ldxw %r3, [%r1+64] # near: ldxw %r3, [%r1+60]
stxdw [%r10-8], %r3
jeq %r2, 0, join
stdw [%r10-8], 3
join:
ldxw %r2, [%r1+28]
jeq %r2, 0, out
ldxdw %r3, [%r10-8]
stxw [%r1+76], %r3
