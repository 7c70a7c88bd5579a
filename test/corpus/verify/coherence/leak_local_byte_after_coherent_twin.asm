# SPDX-License-Identifier: MIT
# expect: reject local_output 8
# flow: stack
ldxw %r3, [%r1+28]
jeq %r3, 7, b
ldxw %r2, [%r1+32]
stxb [%r10-8], %r2
ja j
b:
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+60]
stxb [%r10-8], %r2
j:
ldxb %r2, [%r10-8]
stxw [%r1+76], %r2
mov %r0, 0
exit
