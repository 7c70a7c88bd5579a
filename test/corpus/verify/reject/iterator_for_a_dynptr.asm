# SPDX-License-Identifier: MIT
# iterator for a dynptr
# expect: reject dynptr_none 11
# opts: held
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 4
call 0x10001
mov %r1, %r10
add %r1, -8
mov %r2, 0 # near: mov %r2, 0
mov %r3, 4 # near: mov %r3, 4
mov %r4, 0
mov %r5, 0
call 203 # near: call 0x10002
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
