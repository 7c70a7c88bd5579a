# SPDX-License-Identifier: MIT
# expect: reject recursion 3
call local f
mov %r0, 0
exit
f:
call local f # near:
mov %r0, 0
exit
