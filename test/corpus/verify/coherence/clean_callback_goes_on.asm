# SPDX-License-Identifier: MIT
# Local data is looked at and decides nothing.
# expect: accept
mov %r6, %r1
stdw [%r10-8], 0
mov %r1, 100
bpf_loop_on cb, -8
ldxdw %r1, [%r10-8]
stxw [%r6+76], %r1
mov %r0, 0
exit
cb:
ldxdw %r3, [%r2]
add %r3, 1
stxdw [%r2], %r3
call 7
mov %r0, 0
exit
