# SPDX-License-Identifier: MIT
# expect: reject local_output 8
# flow: map value
mov %r6, %r1
reserve 16
jeq %r0, 0, out
ldxw %r2, [%r0]
stxw [%r6+76], %r2 # near: stxw [%r10-8], %r2
submit %r0
