# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
mov %r6, 0
again:
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, next
stxdw [%r0], %r6
mov %r1, %r0
mov %r2, 0
call 132
next:
add %r6, 1
jlt %r6, 10, again
mov %r0, 0
exit
