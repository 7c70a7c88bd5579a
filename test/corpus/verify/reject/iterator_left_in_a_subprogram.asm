# SPDX-License-Identifier: MIT
# expect: reject iterator_leak 3
mov %r6, %r1
call local f
mov %r0, 0
exit
f:
iter_new -8, 0, 4
# near: mov %r1, %r10
# near: add %r1, -8
# near: call 0x10003
mov %r0, 0
exit
