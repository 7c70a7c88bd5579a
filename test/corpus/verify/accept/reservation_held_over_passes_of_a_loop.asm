# SPDX-License-Identifier: MIT
# expect: accept
reserve 16
jeq %r0, 0, out
mov %r6, %r0
mov %r7, 0
again:
stxdw [%r6], %r7
add %r7, 1
jlt %r7, 50, again
submit %r6
