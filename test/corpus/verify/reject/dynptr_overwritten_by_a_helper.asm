# SPDX-License-Identifier: MIT
# expect: reject object_read 21
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
lddw map_value %r1, @bss, 0
mov %r2, 8
mov %r3, 0
mov %r4, %r10
add %r4, -32
call 197
mov %r1, %r10
add %r1, -16
mov %r2, 8 # near: mov %r2, 0
mov %r3, %r10
add %r3, -32
mov %r4, 0
mov %r5, 0
call 201
mov %r1, %r10
add %r1, -16
mov %r2, 0
call 199
mov %r0, 0
exit
