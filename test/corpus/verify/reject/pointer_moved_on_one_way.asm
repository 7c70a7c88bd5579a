# SPDX-License-Identifier: MIT
# Pointers count beside numbers that do not.
# expect: reject map_bounds 24
lookup @counts
jne %r0, 0, +2
mov %r0, 0
exit
mov %r6, %r0
call 7
mov %r7, 1
mov %r8, 2
mov %r9, 3
stxdw [%r10-16], %r7
stxdw [%r10-24], %r7
stxdw [%r10-32], %r7
stxdw [%r10-40], %r7
stxdw [%r10-48], %r7
stxdw [%r10-56], %r7
jeq %r0, 3, more
ja s
more:
add %r6, 60 # near: add %r6, 56
s:
mov %r0, 0
ldxdw %r1, [%r6]
mov %r0, %r7
add %r0, %r8
add %r0, %r9
exit
