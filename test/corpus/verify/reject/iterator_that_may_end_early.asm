# SPDX-License-Identifier: MIT
# One more than those that give all their numbers for sure.
# expect: reject pointer_range 21
stdw [%r10-16], 0
mov %r6, 0 # near: mov %r6, 1
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
jlt %r6, 65, again
mov %r1, %r10
add %r1, -18
add %r1, %r7
ldxb %r0, [%r1]
mov %r0, 0
exit
