# SPDX-License-Identifier: MIT
# So many short ones give all their numbers, whatever the run did.
# expect: accept
stdw [%r10-16], 0
mov %r6, 0
again:
mov %r7, 0
iter_new -8, 0, 2
n:
iter_next -8
jeq %r0, 0, e
add %r7, 1
ja n
e:
iter_end -8
add %r6, 1
jlt %r6, 64, again
mov %r1, %r10
add %r1, -18
add %r1, %r7
ldxb %r0, [%r1]
mov %r0, 0
exit
