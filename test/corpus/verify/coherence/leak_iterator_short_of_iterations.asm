# SPDX-License-Identifier: MIT
# An iterator ends early when the iterations of the run are used up.
# expect: reject local_output 46
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
mov %r3, 10000 # near: mov %r3, 0
call 0x10001
n:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, d
add %r7, 1
ja n
d:
mov %r1, %r10
add %r1, -8
call 0x10003
stxw [%r6+76], %r7
mov %r0, 0
exit
cb:
mov %r0, 0
exit
