# SPDX-License-Identifier: MIT
# expect: reject release_twice 26
# opts: held
mov %r8, %r1
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
mov %r6, %r0
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
mov %r7, %r0
jeq %r7, 0, one
ldxw %r9, [%r8+32]
jgt %r9, 4, other
mov %r1, %r6
mov %r2, 0
call 132
ja join
other:
mov %r1, %r7 # near: mov %r1, %r6
mov %r2, 0
call 132
join:
mov %r1, %r7
mov %r2, 0
call 132
ja out
one:
mov %r1, %r6
mov %r2, 0
call 132
out:
mov %r0, 0
exit
