# SPDX-License-Identifier: MIT
# a state without the label does not answer for one with it
# expect: reject local_output 5
# flow: branch
ldxw %r3, [%r1+28]
jeq %r3, 7, b
ldxw %r2, [%r1+32]
ja j
b:
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+60]
j:
stxw [%r1+76], %r2
mov %r0, 0
exit
