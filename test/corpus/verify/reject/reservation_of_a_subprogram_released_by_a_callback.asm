# SPDX-License-Identifier: MIT
# The subprogram returned before the loop began: its caller holds the record.
# expect: reject callback_release 19
call local f
jeq %r0, 0, out
mov %r6, %r0
mov %r1, 1
lddw func %r2, cb
mov %r3, %r6
mov %r4, 0
call 181
# near: mov %r1, %r6
# near: mov %r2, 0
# near: call 132
out:
mov %r0, 0
exit
f:
reserve 16
exit
cb:
mov %r1, %r2
mov %r2, 0
call 132 # near:
mov %r0, 0
exit
