# SPDX-License-Identifier: MIT
# expect: reject local_control 6
# flow: stack
ldxw %r2, [%r1+64]
stdw [%r10-8], 1
jeq %r2, 0, +1 # near: jeq %r2, 0, +0
stdw [%r10-8], -1
ldxw %r3, [%r10-4]
jne %r3, 0, +1
stw [%r1+76], 4
mov %r0, 0
exit
