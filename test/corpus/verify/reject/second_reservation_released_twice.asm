# SPDX-License-Identifier: MIT
# expect: reject release_twice 19
# opts: held
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
mov %r1, %r7
mov %r2, 0
call 132
mov %r1, %r7
mov %r2, 0
call 132 # near:
one:
mov %r1, %r6
mov %r2, 0
call 132
out:
mov %r0, 0
exit
