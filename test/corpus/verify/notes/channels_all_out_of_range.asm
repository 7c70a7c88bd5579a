# SPDX-License-Identifier: MIT
# note: impossible_answer 2
ldxw %r2, [%r1+28]
or %r2, 256 # near: or %r2, 64
stxw [%r1+76], %r2
mov %r0, 0
exit
