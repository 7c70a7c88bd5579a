# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r2, [%r1+64]
xor %r2, %r2
stxw [%r1+76], %r2
mov %r0, 0
exit
