# SPDX-License-Identifier: MIT
# note: impossible_answer 2
ldxw %r2, [%r1+28]
or %r2, 128 # near: or %r2, 32
stxw [%r1+76], %r2
mov %r0, 0
exit
