# SPDX-License-Identifier: MIT
# expect: reject recursion 6
# near: call local g
call local f
mov %r0, 0
exit
f:
call local g # near:
mov %r0, 0
exit
g:
call local f
mov %r0, 0
exit
