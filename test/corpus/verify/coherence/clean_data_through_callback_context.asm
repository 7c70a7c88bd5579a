# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
stdw [%r10-8], 0
mov %r1, 2
bpf_loop_on cb, -8
ldxdw %r1, [%r10-8]
stxw [%r6+76], %r1
mov %r0, 0
exit
cb:
mov %r6, %r2
call 5
stxdw [%r10-8], %r0
stdw [%r6], 4
mov %r0, 0
exit
