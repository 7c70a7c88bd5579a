# SPDX-License-Identifier: MIT
# What follows the state before the first iteration is told when all of it is known,
# also after others took its place: the first iteration may be a long one.
# expect: accept iteration 74 first 82 iter_steps 0
stdw [%r10-8], 0
stxdw [%r10-16], %r1
mov %r1, 15
bpf_loop_on cb, -8
ldxdw %r7, [%r10-8]
lookup @counts
jne %r0, 0, +2
mov %r0, 0
exit
add %r0, %r7
ldxdw %r0, [%r0]
mov %r0, 0
exit
cb:
ldxdw %r6, [%r2-8]
ldxdw %r3, [%r2]
add %r3, 2
stxdw [%r2], %r3
mov %r3, 0
ldxw %r5, [%r6+28]
jeq %r5, 3, j
mov %r5, 0
j:
mov %r5, 0
jne %r1, 0, fast
ldxw %r5, [%r6+28]
jeq %r5, 7, long
fast:
mov %r0, 0
exit
long:
repeat 60 1 1
mov %r0, 0
end
exit
