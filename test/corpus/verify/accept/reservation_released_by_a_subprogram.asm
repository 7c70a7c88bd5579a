# SPDX-License-Identifier: MIT
# expect: accept
reserve 16
jeq %r0, 0, out
mov %r1, %r0
call local f
out:
mov %r0, 0
exit
f:
mov %r2, 0
call 132
mov %r0, 0
exit
