# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r7, [%r1+28]
mov %r6, 0
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, %r7
call 0x10001
next:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, done
ldxw %r3, [%r0]
mov %r1, %r10
add %r1, -16
mov %r2, 0
call 0x10001
inner:
mov %r1, %r10
add %r1, -16
call 0x10002
jeq %r0, 0, next_outer
add %r6, 3
ja inner
next_outer:
mov %r1, %r10
add %r1, -16
call 0x10003
ja next
done:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, %r6
exit
