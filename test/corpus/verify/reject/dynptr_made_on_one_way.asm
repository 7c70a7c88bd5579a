# SPDX-License-Identifier: MIT
# Where no dynptr was made, none can be read.
# expect: reject dynptr_none 19
ldxw %r7, [%r1+28]
stdw [%r10-32], 0 # near:
jeq %r7, 3, s # near:
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
s:
mov %r7, 0
mov %r0, 0
mov %r1, %r10
add %r1, -24
mov %r2, 8
mov %r3, %r10
add %r3, -16
mov %r4, 0
mov %r5, 0
call 201
mov %r0, 0
exit
