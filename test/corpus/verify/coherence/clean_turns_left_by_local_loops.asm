# SPDX-License-Identifier: MIT
# Three loops of 2^23 turns at most leave enough of 2^25 for a fourth.
# expect: accept
mov %r6, %r1
ldxw %r1, [%r6+64]
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
ldxw %r1, [%r6+64]
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
ldxw %r1, [%r6+64]
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
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
