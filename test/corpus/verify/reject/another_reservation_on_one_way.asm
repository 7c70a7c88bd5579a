# SPDX-License-Identifier: MIT
# Both ways hold two records; on one of them the same is submitted twice.
# expect: reject release_twice 33
# opts: held
lddw map %r1, @ring
mov %r2, 8
mov %r3, 0
call 131
mov %r6, %r0
jne %r6, 0, one
mov %r0, 0
exit
one:
lddw map %r1, @ring
mov %r2, 8
mov %r3, 0
call 131
mov %r8, %r0
jne %r8, 0, two
mov %r1, %r6
mov %r2, 0
call 132
mov %r0, 0
exit
two:
call 7
mov %r7, %r6
jeq %r0, 3, more
ja s
more:
mov %r7, %r8 # near: mov %r7, %r6
s:
mov %r0, 0
mov %r6, 0
mov %r1, %r7
mov %r2, 0
call 132
mov %r1, %r8
mov %r2, 0
call 132
mov %r0, 0
exit
