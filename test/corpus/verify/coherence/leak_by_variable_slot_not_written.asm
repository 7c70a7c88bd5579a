# SPDX-License-Identifier: MIT
# Which of the slots is coherent, whether it is written is not.
# expect: reject local_control 11
# flow: stack
ldxw %r2, [%r1+64]
ldxw %r3, [%r1+28]
and %r3, 8
stdw [%r10-8], 1
stdw [%r10-16], 1
mov %r4, %r10
sub %r4, %r3
jeq %r2, 0, +1 # near: jeq %r2, 0, +0
stdw [%r4-8], 2
ldxdw %r3, [%r10-8]
jne %r3, 1, +1
stw [%r1+76], 4
mov %r0, 0
exit
