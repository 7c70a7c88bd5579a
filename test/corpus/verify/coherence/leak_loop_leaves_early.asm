# SPDX-License-Identifier: MIT
# expect: reject local_output 7
# flow: loop count
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+60]
mov %r3, 0
l:
add %r3, 1
jeq %r2, %r3, out
jlt %r3, 4, l
mov %r4, 4
ja +0
stxw [%r1+76], %r4
