# SPDX-License-Identifier: MIT
# expect: reject local_output 11
# flow: stack
ldxw %r2, [%r1+64]
stdw [%r10-8], 0
stdw [%r10-16], 0
mov %r3, %r10
add %r3, -8
jeq %r2, 0, +1 # near: jeq %r2, 0, +0
add %r3, -8
mov %r4, 1
stxdw [%r3], %r4
ldxdw %r4, [%r10-8]
mov %r5, %r4
stxw [%r1+76], %r5
mov %r0, 0
exit
