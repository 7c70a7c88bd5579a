# SPDX-License-Identifier: MIT
# expect: reject recursion 6
call local f
mov %r0, 0
exit
f:
call local g
mov %r0, 0
exit
g:
call local f
mov %r0, 0
exit
