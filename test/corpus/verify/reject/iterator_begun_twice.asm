# SPDX-License-Identifier: MIT
# expect: reject iterator 9
iter_new -8, 0, 4
mov %r1, %r10
add %r1, -8
mov %r2, 0 # near:
mov %r3, 4 # near:
call 0x10001 # near: call 0x10003
mov %r0, 0
exit
