# SPDX-License-Identifier: MIT
# Both ways hold two records; on one of them both names are of the first.
# expect: reject release_twice 28
reserve 8
jeq %r0, 0, none
mov %r6, %r0
reserve 8
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
submit %r9
submit %r8
mov %r0, 0
exit
one:
submit %r6
none:
mov %r0, 0
exit
