# SPDX-License-Identifier: MIT
# The elements of a coherent hash are equal on all ranks, their order is not.
# expect: reject local_output 12
# flow: callback
mov %r6, %r1
ldxw %r7, [%r1+64]
stdw [%r10-8], 0
lddw map %r1, @chosen # near: lddw map %r1, @limits
for_each_on cb, -8
ldxdw %r1, [%r10-8]
stxw [%r6+76], %r1
mov %r0, 0
exit
cb:
ldxdw %r1, [%r3]
stxdw [%r4], %r1
mov %r0, 0
exit
