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
submit %r6
out:
mov %r0, 0
exit
f:
reserve 16
exit
cb:
stxdw [%r2], %r1
mov %r0, 0
exit
