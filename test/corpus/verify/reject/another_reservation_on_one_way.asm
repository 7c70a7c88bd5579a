# SPDX-License-Identifier: MIT
# Both ways hold two records; on one of them the same is submitted twice.
# expect: reject release_twice 33
reserve 8
mov %r6, %r0
jne %r6, 0, one
mov %r0, 0
exit
one:
reserve 8
mov %r8, %r0
jne %r8, 0, two
submit %r6
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
submit %r7
submit %r8
mov %r0, 0
exit
