# SPDX-License-Identifier: MIT
# Each number ends an iteration: what is done with it, and the call for the next.
# expect: accept iteration 14 first 14 iter_steps 100
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 100
call 0x10001
n:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, e
mov %r0, 1
mov %r0, 1
mov %r0, 1
ja n
e:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
