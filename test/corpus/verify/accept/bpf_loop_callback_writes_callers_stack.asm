# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-8], 0
mov %r1, 100
bpf_loop_on cb, -8
ldxdw %r0, [%r10-8]
exit
cb:
ldxdw %r3, [%r2]
add %r3, 1
stxdw [%r2], %r3
mov %r0, 0
exit
