# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r4, [%r1+64]
ldxw %r2, [%r1+28]
stdw [%r10-8], 1
lock add [%r10-8], %r2
mov %r0, 1
lock cmpxchg [%r10-8], %r2
mov %r0, 0
ldxw %r3, [%r10-8]
stxw [%r1+76], %r3
exit
