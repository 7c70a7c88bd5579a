# SPDX-License-Identifier: MIT
# Turns that the walk tells apart, more than it keeps states of: the sum is the
# index in the end. What follows the loop follows each iteration.
# expect: accept iteration 40 first 48 iter_steps 0
stdw [%r10-8], 0
mov %r6, %r1
mov %r1, 15
bpf_loop_on cb, -8
ldxdw %r7, [%r10-8]
lookup @counts
jne %r0, 0, +2
mov %r0, 0
exit
add %r0, %r7
ldxdw %r0, [%r0]
repeat 30 1 1
mov %r0, 0
end
exit
cb:
ldxdw %r3, [%r2]
add %r3, 2
stxdw [%r2], %r3
mov %r0, 0
exit
