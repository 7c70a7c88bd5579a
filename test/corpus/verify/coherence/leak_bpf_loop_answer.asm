# SPDX-License-Identifier: MIT
# The helper's answer is the number of iterations.
# expect: reject local_output 7
# flow: callback
mov %r6, %r1
ldxw %r1, [%r6+64] # near: ldxw %r1, [%r6+60]
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
stxw [%r6+76], %r0
mov %r0, 0
exit
cb:
mov %r0, 0
exit
