# SPDX-License-Identifier: MIT
# Four loops of 2^16 iterations at most, of a few instructions each, find what they
# need: a run has 2^25 instructions for iterations.
# expect: accept
mov %r6, %r1
ldxw %r1, [%r6+64]
and %r1, 0xffff
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
ldxw %r1, [%r6+64]
and %r1, 0xffff
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
ldxw %r1, [%r6+64]
and %r1, 0xffff
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
ldxw %r1, [%r6+28]
and %r1, 0xffff
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
