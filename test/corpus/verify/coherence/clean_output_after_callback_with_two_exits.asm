# SPDX-License-Identifier: MIT
# Local control inside a callback ends with the helper's call.
# expect: accept
mov %r6, %r1
ldxw %r7, [%r1+64]
stxdw [%r10-8], %r7
mov %r1, 3
bpf_loop_on cb, -8
mov %r0, 0
stw [%r6+76], 4
exit
cb:
ldxdw %r3, [%r2]
jeq %r3, 0, z
mov %r0, 0
exit
z:
mov %r0, 0
exit
