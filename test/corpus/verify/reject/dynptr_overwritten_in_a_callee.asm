# SPDX-License-Identifier: MIT
# expect: reject object_write 16
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
mov %r1, %r10
add %r1, -16 # near: add %r1, -24
call local f
mov %r1, %r10
add %r1, -16
mov %r2, 0
call 199
mov %r0, 0
exit
f:
stdw [%r1], 0
mov %r0, 0
exit
