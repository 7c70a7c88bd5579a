# SPDX-License-Identifier: MIT
# Of short iterators only the first of a run give all their numbers.
# expect: reject local_output 60
# flow: loop count
mov %r6, %r1
mov %r7, 0
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
mov %r1, %r10
add %r1, -8
mov %r2, 0
ldxw %r3, [%r6+28] # near: mov %r3, 8
and %r3, 0xff # near:
call 0x10001
o:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, oe
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 8
call 0x10001
n:
mov %r1, %r10
add %r1, -16
call 0x10002
jeq %r0, 0, ne
add %r7, 1
ja n
ne:
mov %r1, %r10
add %r1, -16
call 0x10003
ja o
oe:
mov %r1, %r10
add %r1, -8
call 0x10003
stxw [%r6+76], %r7
mov %r0, 0
exit
cb:
mov %r0, 0
exit
