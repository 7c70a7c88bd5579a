# SPDX-License-Identifier: MIT
# Whether 5 is stored depends on what was expected.
# expect: reject local_output 6
# flow: atomic
stdw [%r10-8], 0
mov %r2, 5
mov %r6, %r1
ldxw %r0, [%r1+64] # near: ldxw %r0, [%r1+28]
lock cmpxchg [%r10-8], %r2
ldxdw %r3, [%r10-8]
stxw [%r6+76], %r3
mov %r0, 0
exit
