# SPDX-License-Identifier: MIT
# expect: reject dynptr_none 29
# opts: held
mov %r8, %r1
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -32
call 198
ldxw %r9, [%r8+32]
jgt %r9, 4, other
mov %r1, %r10
add %r1, -16 # near: add %r1, -32
mov %r2, 0
call 199
ja join
other:
mov %r1, %r10
add %r1, -32
mov %r2, 0
call 199
join:
mov %r1, %r10
add %r1, -16
mov %r2, 0
call 199
mov %r0, 0
exit
