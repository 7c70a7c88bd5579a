# SPDX-License-Identifier: MIT
# A sum that differs in every iteration: only a state for all of them ends the walk.
# expect: accept
ldxw %r1, [%r1+28]
stdw [%r10-8], 0
stdw [%r10-16], 1
bpf_loop_on cb, -16
ldxdw %r0, [%r10-16]
exit
cb:
ldxdw %r3, [%r2]
ldxdw %r4, [%r2+8]
add %r4, %r3
mul %r3, 3
jset %r4, 1, odd
add %r4, 7
odd:
stxdw [%r2], %r3
stxdw [%r2+8], %r4
mov %r0, 0
exit
