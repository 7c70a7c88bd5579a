# SPDX-License-Identifier: MIT
# expect: reject local_output 1
# flow: copy
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+28]
stxw [%r1+76], %r2
mov %r0, 0
exit
