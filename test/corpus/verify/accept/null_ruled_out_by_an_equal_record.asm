# SPDX-License-Identifier: MIT
# A pointer that equals the address of a record is not NULL.
# expect: accept
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, none
mov %r6, %r0
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jne %r0, %r6, out
ldxb %r1, [%r0]
out:
mov %r1, %r6
mov %r2, 0
call 132
none:
mov %r0, 0
exit
