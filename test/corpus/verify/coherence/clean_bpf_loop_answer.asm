# SPDX-License-Identifier: MIT
# The helper's answer is the number of iterations.
# expect: accept
mov %r6, %r1
ldxw %r7, [%r6+64]
ldxw %r1, [%r6+28]
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
