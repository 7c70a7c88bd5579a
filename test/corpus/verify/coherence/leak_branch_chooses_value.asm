# SPDX-License-Identifier: MIT
# expect: reject local_output 4
# flow: branch
ldxw %r2, [%r1+64]
mov %r3, 1
jeq %r2, 0, +1 # near: jeq %r2, 0, +0
mov %r3, 2
stxw [%r1+76], %r3
mov %r0, 0
exit
