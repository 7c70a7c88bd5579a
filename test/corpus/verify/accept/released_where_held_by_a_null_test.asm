# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
mov %r6, %r1
mov %r7, 0
ldxw %r8, [%r6+32]
jgt %r8, 4, join
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
mov %r7, %r0
join:
jeq %r7, 0, out
mov %r1, %r7
mov %r2, 0
call 132
out:
mov %r0, 0
exit
