# SPDX-License-Identifier: MIT
# Data on one way, a pointer on the other.
# expect: reject stack_partial 16
ldxdw %r2, [%r1]
ldxw %r7, [%r1+28]
jeq %r7, 3, ptr
stxb [%r10-7], %r2
stxb [%r10-8], %r2
stxb [%r10-6], %r2
stxb [%r10-5], %r2
stxb [%r10-4], %r2
stxb [%r10-3], %r2
stxb [%r10-2], %r2
stxb [%r10-1], %r2
ja s
ptr:
stxdw [%r10-8], %r10 # near: stxdw [%r10-8], %r2
s:
mov %r2, 0
mov %r1, 0
mov %r7, 0
ldxb %r0, [%r10-7]
mov %r0, 0
exit
