# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r2, [%r1+68]
stxw [%r1+76], %r2
mov %r0, 0
exit
