# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, 0
again:
reserve 16
jeq %r0, 0, next
stxdw [%r0], %r6
submit %r0
next:
add %r6, 1
jlt %r6, 10, again
mov %r0, 0
exit
