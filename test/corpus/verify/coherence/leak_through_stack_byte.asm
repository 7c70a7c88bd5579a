# SPDX-License-Identifier: MIT
# expect: reject local_output 5
# flow: stack
stdw [%r10-8], 0
ldxw %r2, [%r1+64]
stxb [%r10-7], %r2 # near: stxb [%r10-9], %r2
ldxdw %r3, [%r10-8]
mov %r4, %r3
stxw [%r1+76], %r4
mov %r0, 0
exit
