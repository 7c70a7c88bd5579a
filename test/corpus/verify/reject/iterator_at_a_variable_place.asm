# SPDX-License-Identifier: MIT
# iterator at a variable place
# expect: reject iterator 7
ldxw %r7, [%r1+28]
and %r7, 8
mov %r1, %r10
add %r1, -16
add %r1, %r7 # near:
mov %r2, 0
mov %r3, 3
call 0x10001
# near: mov %r1, %r10
# near: add %r1, -16
# near: call 0x10003
mov %r0, 0
exit
