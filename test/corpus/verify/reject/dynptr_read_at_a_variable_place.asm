# SPDX-License-Identifier: MIT
# dynptr read at a variable place
# expect: reject dynptr_place 17
ldxw %r7, [%r1+28]
and %r7, 8 # near: mov %r7, 8
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
mov %r1, %r10
add %r1, -40
mov %r2, 8
mov %r3, %r10
add %r3, -24
add %r3, %r7
mov %r4, 0
mov %r5, 0
call 201
mov %r0, 0
exit
