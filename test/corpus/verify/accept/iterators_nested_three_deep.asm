# SPDX-License-Identifier: MIT
# Together they take no more iterations than a run has.
# expect: accept
mov %r6, %r1
mov %r7, 0
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 4096
call 0x10001
n1:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, e1
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 4096
call 0x10001
n2:
mov %r1, %r10
add %r1, -16
call 0x10002
jeq %r0, 0, e2
mov %r1, %r10
add %r1, -24
mov %r2, 0
mov %r3, 4096
call 0x10001
n3:
mov %r1, %r10
add %r1, -24
call 0x10002
jeq %r0, 0, e3
add %r7, 1
ja n3
e3:
mov %r1, %r10
add %r1, -24
call 0x10003
ja n2
e2:
mov %r1, %r10
add %r1, -16
call 0x10003
ja n1
e1:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
