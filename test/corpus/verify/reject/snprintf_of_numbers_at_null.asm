# SPDX-License-Identifier: MIT
# expect: reject arg_null 7
mov %r1, %r10
add %r1, -16
mov %r2, 16
lddw map_value %r3, @rodata, 1
mov %r4, 0
mov %r5, 8 # near: mov %r5, 0
call 165
mov %r0, 0
exit
