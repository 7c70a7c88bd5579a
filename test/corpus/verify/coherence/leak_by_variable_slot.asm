# SPDX-License-Identifier: MIT
# expect: reject local_control 9
# flow: stack
ldxw %r2, [%r1+64]
and %r2, 8
stdw [%r10-8], 0
stdw [%r10-16], 0
mov %r3, %r10
sub %r3, %r2
stdw [%r3-8], 1
ldxdw %r4, [%r10-8]
jne %r4, 0, +1 # near: jne %r4, 0, +0
stw [%r1+76], 5
mov %r0, 0
exit
