# SPDX-License-Identifier: MIT
# expect: reject object_read 10
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 4
call 0x10001
stw [%r10-20], 0
lddw map %r1, @counts
mov %r2, %r10
add %r2, -6 # near: add %r2, -20
call 1
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
