# SPDX-License-Identifier: MIT
# expect: reject local_output 5
# flow: function
mov %r6, %r1
ldxw %r1, [%r1+64] # near: ldxw %r1, [%r1+28]
call local f
mov %r2, %r0
ja +0
stxw [%r6+76], %r2
mov %r0, 0
exit
f:
mov %r0, %r1
exit
