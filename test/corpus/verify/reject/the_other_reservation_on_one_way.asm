# SPDX-License-Identifier: MIT
# Both ways hold two records; on one of them both names are of the first.
# expect: reject release_twice 28
lddw map %r1, @ring
mov %r2, 8
mov %r3, 0
call 131
jeq %r0, 0, none
mov %r6, %r0
lddw map %r1, @ring
mov %r2, 8
mov %r3, 0
call 131
jeq %r0, 0, one
mov %r7, %r0
mov %r8, %r6
call 7
jeq %r0, 3, more
mov %r9, %r7
ja s
more:
mov %r9, %r6 # near: mov %r9, %r7
s:
mov %r0, 0
mov %r6, 0
mov %r7, 0
mov %r1, %r9
mov %r2, 0
call 132
mov %r1, %r8
mov %r2, 0
call 132
mov %r0, 0
exit
one:
mov %r1, %r6
mov %r2, 0
call 132
none:
mov %r0, 0
exit
