# SPDX-License-Identifier: MIT
# expect: reject call_depth 19
call local a # near:
exit # near:
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
call local g
exit
g:
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
