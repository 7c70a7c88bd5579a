# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
mov %r6, %r0
jeq %r6, 0, out
mov %r1, %r6
mov %r2, 0
call 132
jeq %r6, 0, out
mov %r0, 1
exit
out:
mov %r0, 0
exit
