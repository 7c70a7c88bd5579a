# SPDX-License-Identifier: MIT
# expect: reject local_control 10
# flow: stack
ldxw %r2, [%r1+64]
stdw [%r10-8], 0
stdw [%r10-16], 0
mov %r3, %r10
add %r3, -8
jeq %r2, 0, +1 # near: jeq %r2, 0, +0
add %r3, -8
stdw [%r3], 1
ldxdw %r4, [%r10-8]
jne %r4, 1, +1
stw [%r1+76], 5
mov %r0, 0
exit
