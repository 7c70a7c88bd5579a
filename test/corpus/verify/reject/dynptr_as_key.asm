# SPDX-License-Identifier: MIT
# golden
# expect: reject object_read 11
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
# near: stw [%r10-20], 0
lddw map %r1, @counts
mov %r2, %r10
add %r2, -12 # near: add %r2, -20
call 1
mov %r1, %r10
add %r1, -16
mov %r2, 0
call 199
mov %r0, 0
exit
