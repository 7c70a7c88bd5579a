# SPDX-License-Identifier: MIT
# The callback writes an output by the same iterations on all ranks.
# expect: accept
mov %r3, %r1
ldxw %r5, [%r1+64]
ldxw %r1, [%r1+28]
lddw func %r2, cb
mov %r4, 0
call 181
mov %r0, 0
exit
cb:
stw [%r2+76], 4
mov %r0, 0
exit
