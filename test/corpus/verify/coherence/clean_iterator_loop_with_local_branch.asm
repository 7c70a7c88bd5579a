# SPDX-License-Identifier: MIT
# Local data is looked at in each iteration and decides nothing.
# expect: accept
mov %r7, %r1
ldxw %r3, [%r1+28]
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
call 7
jset %r0, 1, on
on:
add %r6, 1
ja next
done:
mov %r1, %r10
add %r1, -8
call 0x10003
stxw [%r7+76], %r6
mov %r0, 0
exit
