# SPDX-License-Identifier: MIT
# expect: reject local_control 4
# flow: function
mov %r6, %r1
ldxw %r1, [%r1+64]
call local f
jne %r0, 1, +1 # near: jne %r0, 0, +1
stw [%r6+76], 4
mov %r0, 0
exit
f:
mov %r0, 1
jeq %r1, 0, +1
mov %r0, 2
exit
