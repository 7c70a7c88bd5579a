# SPDX-License-Identifier: MIT
# note: address 1
mov %r6, %r1
neg %r1 # near: ldxw %r2, [%r1+28]
stw [%r6+76], 4
mov %r0, 0
exit
