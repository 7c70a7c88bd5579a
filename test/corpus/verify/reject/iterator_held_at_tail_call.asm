# SPDX-License-Identifier: MIT
# expect: reject tail_call 10
mov %r6, %r1
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 4
call 0x10001
mov %r1, %r6
lddw map %r2, @loose
mov %r3, 0
call 12 # near:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
