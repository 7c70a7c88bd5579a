# SPDX-License-Identifier: MIT
# expect: accept
call local a
exit
a:
call local b
exit
b:
call local c
exit
c:
call local d
exit
d:
call local e
exit
e:
call local f
exit
f:
mov %r1, 3
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
mov %r0, 0
exit
cb:
mov %r0, 0
exit
