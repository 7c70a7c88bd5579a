# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
mov %r8, %r1
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked
call 1
jeq %r0, 0, out
mov %r6, %r0
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked
call 1
jeq %r0, 0, out
mov %r7, %r0
ldxw %r2, [%r8+32]
jgt %r2, 4, other
mov %r9, %r6
ja join0
other:
mov %r9, %r7
join0:
mov %r1, %r9
add %r1, 4
call 93
ja join
join:
mov %r1, %r9
add %r1, 4
call 94
out:
mov %r0, 0
exit
