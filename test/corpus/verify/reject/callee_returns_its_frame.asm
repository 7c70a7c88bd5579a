# SPDX-License-Identifier: MIT
# expect: reject stack_escape 5
call local f
ldxb %r1, [%r0-1]
mov %r0, 0
exit
f:
mov %r0, %r10
exit
