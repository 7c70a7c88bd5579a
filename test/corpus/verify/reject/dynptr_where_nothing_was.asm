# SPDX-License-Identifier: MIT
# Bytes of a dynptr are no memory for a helper; where none was made they are.
# expect: reject object_read 19
ldxw %r7, [%r1+28]
stdw [%r10-32], 48
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
mov %r1, %r10
add %r1, -32
mov %r2, 8
mov %r3, 10
mov %r4, %r10
add %r4, -16 # near: add %r4, -24
call 105
mov %r0, 0
exit
