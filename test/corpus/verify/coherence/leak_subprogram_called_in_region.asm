# SPDX-License-Identifier: MIT
# expect: reject local_output 7
# flow: function
mov %r6, %r1
ldxw %r2, [%r1+64]
stdw [%r10-8], 0
mov %r1, %r10
jeq %r2, 0, +1 # near: jeq %r2, 0, +0
call local f
ldxw %r2, [%r10-8]
stxw [%r6+76], %r2
mov %r0, 0
exit
f:
stdw [%r1-8], 1
mov %r0, 0
exit
