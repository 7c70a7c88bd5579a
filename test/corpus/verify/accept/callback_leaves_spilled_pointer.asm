# SPDX-License-Identifier: MIT
# expect: accept
stxdw [%r10-8], %r1
stdw [%r10-16], 0
mov %r1, 2
bpf_loop_on cb, -16
ldxdw %r1, [%r10-8]
ldxdw %r0, [%r1]
mov %r0, 0
exit
cb:
stdw [%r2], 7
mov %r0, 0
exit
