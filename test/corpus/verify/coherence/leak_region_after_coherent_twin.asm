# SPDX-License-Identifier: MIT
# a state outside a region does not answer for one inside
# expect: reject local_control 5
# flow: branch
ldxw %r3, [%r1+28]
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+60]
jeq %r3, 7, b
ja x
b:
jeq %r2, 0, y
x:
stw [%r1+76], 4
y:
mov %r0, 0
exit
