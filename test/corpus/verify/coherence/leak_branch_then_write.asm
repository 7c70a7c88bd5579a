# SPDX-License-Identifier: MIT
# expect: reject local_control 2
# flow: branch
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+28]
jeq %r2, 0, +1
stw [%r1+76], 4
mov %r0, 0
exit
