# SPDX-License-Identifier: MIT
# expect: reject local_output 10
# flow: look-up
mov %r6, %r1
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+60]
stxw [%r10-4], %r2
look @limits
jeq %r0, 0, out
ldxw %r2, [%r0]
stxw [%r6+76], %r2
