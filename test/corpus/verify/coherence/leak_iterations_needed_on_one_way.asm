# SPDX-License-Identifier: MIT
# As many loops were begun on both ways, but on one they need more iterations.
# expect: reject local_output 27
# flow: loop count
mov %r6, %r1
ldxw %r1, [%r6+64] # near: ldxw %r1, [%r6+60]
and %r1, 255
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181

ldxw %r7, [%r6+28]
mov %r1, 1
jeq %r7, 3, more
ja s
more:
mov %r1, 1200000
s:
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
mov %r7, 0
mov %r0, 0
ldxw %r1, [%r6+28]
and %r1, 0xfffff
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
