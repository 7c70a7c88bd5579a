# SPDX-License-Identifier: MIT
# expect: reject local_control 6
# flow: stack
ldxw %r2, [%r1+64]
stdw [%r10-8], 1 # near: stdw [%r10-8], 0
jeq %r2, 0, +1
stdw [%r10-8], 2
ldxw %r3, [%r10-8]
jne %r3, 1, +1
stw [%r1+76], 4
mov %r0, 0
exit
