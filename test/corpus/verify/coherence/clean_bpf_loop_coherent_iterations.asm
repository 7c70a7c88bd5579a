# SPDX-License-Identifier: MIT
# The same number of iterations on all ranks, beside something local.
# expect: accept
mov %r6, %r1
ldxw %r7, [%r1+64]
stdw [%r10-8], 0
ldxw %r1, [%r6+28]
bpf_loop_on cb, -8
ldxdw %r1, [%r10-8]
stxw [%r6+76], %r1
mov %r0, 0
exit
cb:
ldxdw %r3, [%r2]
add %r3, 1
stxdw [%r2], %r3
mov %r0, 0
exit
