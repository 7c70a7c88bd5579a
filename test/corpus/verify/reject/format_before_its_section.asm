# SPDX-License-Identifier: MIT
# format before its section
# expect: reject arg_memory 9
stdw [%r10-16], 0
mov %r1, %r10
add %r1, -16
mov %r2, 8
lddw map_value %r3, @rodata, 0
add %r3, -8 # near:
mov %r4, 0 # near: mov %r4, %r1
mov %r5, 0
call 165
mov %r0, 0
exit
