# SPDX-License-Identifier: MIT
# expect: accept
mov %r1, 1
call local f
mov %r6, %r0
mov %r1, 2
call local f
add %r0, %r6
exit
f:
mov %r0, %r1
exit
