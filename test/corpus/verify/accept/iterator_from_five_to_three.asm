# SPDX-License-Identifier: MIT
# There is no number in it, so what would be done with one is not.
# expect: accept
ldxw %r7, [%r1+28]
and %r7, 3
mov %r1, %r10
add %r1, -8
mov %r2, 5
mov %r3, %r7
call 0x10001
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, out
ldxdw %r1, [%r10-256]
out:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
