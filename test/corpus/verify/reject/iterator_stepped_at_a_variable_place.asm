# SPDX-License-Identifier: MIT
# iterator stepped at a variable place
# expect: reject iterator 10
ldxw %r7, [%r1+28]
and %r7, 8
iter_new -16, 0, 3
mov %r1, %r10
add %r1, -16
add %r1, %r7 # near:
call 0x10002
# near: mov %r1, %r10
# near: add %r1, -16
# near: call 0x10003
mov %r0, 0
exit
