# SPDX-License-Identifier: MIT
# An array comes in the order of its index.
# expect: accept
mov %r6, %r1
ldxw %r7, [%r1+64]
stdw [%r10-8], 0
lddw map %r1, @limits
for_each_on cb, -8
ldxdw %r1, [%r10-8]
stxw [%r6+76], %r1
mov %r0, 0
exit
cb:
ldxw %r3, [%r2]
stxdw [%r4], %r3
mov %r0, 0
exit
