# SPDX-License-Identifier: MIT
# expect: reject local_output 3
# flow: stack
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+28]
stxdw [%r10-8], %r2
ldxdw %r3, [%r10-8]
stxw [%r1+76], %r3
mov %r0, 0
exit
