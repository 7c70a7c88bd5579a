# SPDX-License-Identifier: MIT
# Bytes read from a dynptr land in a value; what is on the stack stays known.
# expect: accept
stdw [%r10-8], 5
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -24
call 197
lddw map_value %r1, @bss, 40
mov %r2, 8
mov %r3, %r10
add %r3, -24
mov %r4, 0
mov %r5, 0
call 201
ldxdw %r2, [%r10-8]
lddw map_value %r4, @bss, 58
add %r4, %r2
ldxb %r0, [%r4]
mov %r0, 0
exit
