# SPDX-License-Identifier: MIT
# The same where nothing local took iterations.
# expect: accept
mov %r6, %r1
stdw [%r10-8], 0
mov %r1, 8000
bpf_loop_on outer, -8
ldxdw %r1, [%r10-8]
stxw [%r6+76], %r1
mov %r0, 0
exit
outer:
mov %r6, %r2
mov %r1, 8000
bpf_loop cb
stxdw [%r6], %r0
mov %r0, 0
exit
