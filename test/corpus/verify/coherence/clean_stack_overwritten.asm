# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r2, [%r1+64]
stxdw [%r10-8], %r2
stdw [%r10-8], 3
ldxdw %r3, [%r10-8]
stxw [%r1+76], %r3
mov %r0, 0
exit
