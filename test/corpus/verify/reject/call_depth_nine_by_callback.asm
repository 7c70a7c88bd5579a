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
bpf_loop cb
mov %r0, 0
exit
