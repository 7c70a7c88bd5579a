# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r2, [%r1+28]
jeq %r2, 0, +1
stw [%r1+76], 4
mov %r0, 0
exit
