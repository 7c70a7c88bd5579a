# SPDX-License-Identifier: MIT
# expect: reject local_output 5
# flow: stack
ldxw %r2, [%r1+64]
stdw [%r10-8], 1
jeq %r2, 0, +1 # near: jeq %r2, 0, +0
stdw [%r10-8], 2
ldxdw %r3, [%r10-8]
stxw [%r1+76], %r3
mov %r0, 0
exit
