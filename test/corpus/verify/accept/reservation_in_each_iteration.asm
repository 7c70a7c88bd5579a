# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
mov %r1, 20
lddw func %r2, cb
mov %r3, %r10
mov %r4, 0
call 181
mov %r0, 0
exit
cb:
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, no
mov %r1, %r0
mov %r2, 0
call 132
no:
mov %r0, 0
exit
