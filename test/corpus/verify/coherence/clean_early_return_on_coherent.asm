# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
ldxw %r2, [%r1+28]
jeq %r2, 0, out
mov %r3, 4
stxw [%r6+76], %r3
