# SPDX-License-Identifier: MIT
# expect: accept
mov %r1, 91
call local f
exit
f:
mov %r2, 2
l:
mov %r3, %r1
mod %r3, %r2
jeq %r3, 0, no
add %r2, 1
mov %r4, %r2
mul %r4, %r2
jle %r4, %r1, l
mov %r0, 1
exit
no:
mov %r0, 0
exit
