# SPDX-License-Identifier: MIT
# expect: reject local_output 7
# flow: stack
ldxw %r2, [%r1+28]
and %r2, 3
stxdw [%r10-8], %r1
mov %r3, %r10
add %r3, %r2
stb [%r3-8], 0
ldxw %r4, [%r10-4] # near: ldxdw %r4, [%r1+8]
stxw [%r1+76], %r4
mov %r0, 0
exit
