# SPDX-License-Identifier: MIT
# note: zero_modulus 2
ldxw %r2, [%r1+28]
mov %r3, 60
# near: jeq %r2, 0, out
smod %r3, %r2
stxw [%r1+76], %r3
# near: out:
mov %r0, 0
exit
