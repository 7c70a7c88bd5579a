# SPDX-License-Identifier: MIT
# The subprogram returned before the loop began: its caller holds the record.
# expect: accept
call local f
jeq %r0, 0, out
mov %r6, %r0
mov %r1, 20
lddw func %r2, cb
mov %r3, %r6
mov %r4, 0
call 181
mov %r1, %r6
mov %r2, 0
call 132
out:
mov %r0, 0
exit
f:
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
exit
cb:
stxdw [%r2], %r1
mov %r0, 0
exit
