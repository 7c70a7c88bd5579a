# SPDX-License-Identifier: MIT
# expect: reject local_output 4
# flow: arithmetic
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+32]
ldxw %r3, [%r1+28]
add %r3, %r2
and %r3, 7
stxw [%r1+76], %r3
mov %r0, 0
exit
