# SPDX-License-Identifier: MIT
# note: no_answer 0
ldxw %r2, [%r1+28]
# near: stxw [%r1+76], %r2
mov %r0, 0
exit
