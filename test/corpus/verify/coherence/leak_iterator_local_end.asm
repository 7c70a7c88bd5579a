# SPDX-License-Identifier: MIT
# How many numbers there are is local: so is their count.
# expect: reject local_output 16
# flow: loop count
mov %r7, %r1
ldxw %r3, [%r1+64] # near: ldxw %r3, [%r1+60]
mov %r6, 0
mov %r1, %r10
add %r1, -8
mov %r2, 0
call 0x10001
next:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, done
add %r6, 1
ja next
done:
mov %r1, %r10
add %r1, -8
call 0x10003
stxw [%r7+76], %r6
mov %r0, 0
exit
