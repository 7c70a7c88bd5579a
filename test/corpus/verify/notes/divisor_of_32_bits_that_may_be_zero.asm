# SPDX-License-Identifier: MIT
# note: zero_divisor 2
ldxdw %r2, [%r1+8]
mov32 %r3, 60 # near: or %r2, 1
div32 %r3, %r2 # near: div32 %r2, 60
stxw [%r1+76], %r3 # near: stxw [%r1+76], %r2
mov %r0, 0
exit
