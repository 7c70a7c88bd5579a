# SPDX-License-Identifier: MIT
# expect: reject local_control 8
# flow: function
mov %r6, %r1
ldxw %r2, [%r1+64]
stdw [%r10-8], 1 # near: stdw [%r10-8], 0
mov %r1, %r10
jeq %r2, 0, +1
call local f
ldxdw %r3, [%r10-8]
jne %r3, 1, +1
stw [%r6+76], 4
mov %r0, 0
exit
f:
stdw [%r1-8], 2
mov %r0, 0
exit
