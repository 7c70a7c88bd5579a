# SPDX-License-Identifier: MIT
# expect: reject local_control 6
# flow: stack
ldxw %r2, [%r1+64]
stw [%r10-4], 1 # near: stw [%r10-4], 0
jeq %r2, 0, +1
stw [%r10-4], 2
ldxw %r3, [%r10-4]
jne %r3, 1, +1
stw [%r1+76], 4
mov %r0, 0
exit
