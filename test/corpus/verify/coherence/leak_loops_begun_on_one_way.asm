# SPDX-License-Identifier: MIT
# After four loops on one way the last one may be short of iterations; after none on
# the other it is not.
# expect: reject local_output 47
# flow: loop count
mov %r6, %r1
ldxw %r1, [%r6+64] # near: ldxw %r1, [%r6+60]
and %r1, 255
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181

ldxw %r1, [%r6+28]
jeq %r1, 3, more
ja s
more:
ldxw %r1, [%r6+28]
and %r1, 255
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
ldxw %r1, [%r6+28]
and %r1, 255
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
ldxw %r1, [%r6+28]
and %r1, 255
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
ldxw %r1, [%r6+28]
and %r1, 255
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181

s:
mov %r0, 0
ldxw %r1, [%r6+28]
and %r1, 255
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
