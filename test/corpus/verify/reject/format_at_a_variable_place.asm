# SPDX-License-Identifier: MIT
# format at a variable place
# expect: reject arg_memory 11
ldxw %r6, [%r1+28]
and %r6, 7
stdw [%r10-16], 0
mov %r1, %r10
add %r1, -16
mov %r2, 8
lddw map_value %r3, @rodata, 0
add %r3, %r6 # near:
mov %r4, 0 # near: mov %r4, %r1
mov %r5, 0
call 165
mov %r0, 0
exit
