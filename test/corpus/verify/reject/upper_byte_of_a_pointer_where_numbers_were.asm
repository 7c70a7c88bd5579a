# SPDX-License-Identifier: MIT
# Data that is not 0 on one way, the upper half of a pointer on the other.
# expect: reject stack_partial 10
ldxdw %r2, [%r1]
ldxw %r7, [%r1+28]
jeq %r7, 3, ptr
stdw [%r10-8], -8
stxb [%r10-3], %r2
ja s
ptr:
stxdw [%r10-8], %r10 # near: stxdw [%r10-16], %r10
# near: stdw [%r10-8], 0
s:
mov %r2, 0
mov %r1, 0
mov %r7, 0
ldxb %r0, [%r10-3]
mov %r0, 0
exit
