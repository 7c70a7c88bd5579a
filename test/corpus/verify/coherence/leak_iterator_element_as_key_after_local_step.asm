# SPDX-License-Identifier: MIT
# Some ranks took a number more before all look one up by its place.
# expect: reject local_output 23
# flow: loop count
mov %r6, %r1
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 4
call 0x10001
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, out
mov %r7, %r0
call 7
and %r0, 1 # near: and %r0, 0
jeq %r0, 0, over
mov %r1, %r10
add %r1, -8
call 0x10002
over:
lddw map %r1, @limits
mov %r2, %r7
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
stxw [%r6+76], %r1
out:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
