# SPDX-License-Identifier: MIT
# golden
# expect: reject dynptr_none 13
# opts: held
mov %r8, %r1
ldxw %r9, [%r8+32] # near:
jgt %r9, 4, join # near:
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
join:
mov %r1, %r10
add %r1, -16
mov %r2, 0
call 199
mov %r0, 0
exit
