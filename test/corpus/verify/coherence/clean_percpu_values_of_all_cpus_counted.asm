# SPDX-License-Identifier: MIT
# How many CPUs there are goes into a local map, not into the answer.
# expect: accept
mov %r6, %r1
stw [%r10-4], 0
mov %r7, 0
next:
mov %r2, %r10
add %r2, -4
lddw map %r1, @percpu
mov %r3, %r7
call 195
jeq %r0, 0, counted
add %r7, 1
jlt %r7, 16, next
counted:
look @counts
jeq %r0, 0, out
stxdw [%r0], %r7
out:
mov %r0, 0
stw [%r6+76], 5
exit
