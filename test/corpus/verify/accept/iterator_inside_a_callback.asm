# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r1, [%r1+28]
stdw [%r10-8], 0
lddw func %r2, cb
mov %r3, %r10
add %r3, -8
mov %r4, 0
call 181
mov %r0, 0
exit
cb:
mov %r6, %r2
mov %r3, %r1
mov %r1, %r10
add %r1, -8
mov %r2, 0
call 0x10001
next:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, done
ldxdw %r1, [%r6]
add %r1, 1
stxdw [%r6], %r1
ja next
done:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
