# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
ldxw %r2, [%r1+24]
stxw [%r10-4], %r2
look @limits
jeq %r0, 0, out
ldxw %r2, [%r0]
stxw [%r6+76], %r2
