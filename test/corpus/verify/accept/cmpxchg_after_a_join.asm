# SPDX-License-Identifier: MIT
# What cmpxchg compares with, r0, is read by it.
# expect: accept
ldxw %r7, [%r1+28]
stdw [%r10-8], 0
mov %r0, 0
jne %r7, 3, s
mov %r0, 1
s:
mov %r1, 2
lock cmpxchg [%r10-8], %r1
mov %r0, 0
exit
