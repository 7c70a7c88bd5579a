# SPDX-License-Identifier: MIT
# expect: reject local_output 6
# flow: atomic
ldxw %r0, [%r1+64] # near: ldxw %r0, [%r1+60]
stdw [%r10-8], 1
mov %r2, 5
lock cmpxchg [%r10-8], %r2
mov %r0, 0
ldxw %r3, [%r10-8]
stxw [%r1+76], %r3
exit
