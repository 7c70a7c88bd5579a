# SPDX-License-Identifier: MIT
# expect: reject local_output 3
# flow: function
mov %r6, %r1
ldxw %r1, [%r1+64] # near: ldxw %r1, [%r1+60]
call local f
stxw [%r6+76], %r0
mov %r0, 0
exit
f:
jeq %r1, 0, z
mov %r0, 1
exit
z:
mov %r0, 2
exit
