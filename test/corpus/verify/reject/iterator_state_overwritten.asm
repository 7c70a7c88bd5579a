# SPDX-License-Identifier: MIT
# golden
# expect: reject object_write 5
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 4
call 0x10001
stw [%r10-4], 1000 # near: stw [%r10-12], 1000
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
