# SPDX-License-Identifier: MIT
# expect: reject local_output 5
# flow: atomic
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+60]
stxdw [%r10-8], %r2
mov %r2, 1
lock add [%r10-8], %r2
ldxw %r3, [%r10-8]
stxw [%r1+76], %r3
mov %r0, 0
exit
