# SPDX-License-Identifier: MIT
# note: zero_divisor 2
ldxw %r2, [%r1+28]
mov %r3, 60
# near: or %r2, 1
div %r3, %r2
stxw [%r1+76], %r3
mov %r0, 0
exit
