# SPDX-License-Identifier: MIT
# A iteration may leave a dynptr or none; nothing ends the loop.
# expect: reject endless_loop 10
ldxw %r7, [%r1+28]
jeq %r7, 3, more
ja s
more:
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
s:
mov %r7, 0
mov %r0, 0
lddw map_value %r1, @bss, 0
jeq %r0, 0, more # near: jeq %r0, 0, +0
mov %r2, 8
mov %r3, 10
mov %r4, %r10
add %r4, -24
# near: lddw map_value %r1, @rodata, 0
call 105
mov %r0, 0
exit
