# SPDX-License-Identifier: MIT
# expect: reject use_after_release 17
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 8
call 203
jeq %r0, 0, no
mov %r6, %r0
mov %r1, %r10
add %r1, -16
call local f
ldxdw %r0, [%r6] # near: mov %r0, 0
# near: exit
no:
mov %r1, %r10
add %r1, -16
mov %r2, 0
call 199
mov %r0, 0
exit
f:
mov %r2, 0
call 199
mov %r0, 0
exit
