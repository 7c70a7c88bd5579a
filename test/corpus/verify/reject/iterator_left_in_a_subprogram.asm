# SPDX-License-Identifier: MIT
# expect: reject iterator_leak 3
mov %r6, %r1
call local f
mov %r0, 0
exit
f:
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 4
call 0x10001
# near: mov %r1, %r10
# near: add %r1, -8
# near: call 0x10003
mov %r0, 0
exit
