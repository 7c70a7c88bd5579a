# SPDX-License-Identifier: MIT
# expect: reject local_output 4
# flow: atomic
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+60]
stdw [%r10-8], 1
lock add [%r10-8], %r2
ldxw %r3, [%r10-8]
stxw [%r1+76], %r3
mov %r0, 0
exit
