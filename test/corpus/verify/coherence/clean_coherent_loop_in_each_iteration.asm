# SPDX-License-Identifier: MIT
# Loops of coherent counts use them up on all ranks alike.
# expect: accept
mov %r6, %r1
mov %r1, 100
lddw func %r2, outer
mov %r3, %r6
mov %r4, 0
call 181
ldxw %r7, [%r6+64]
ldxw %r1, [%r6+28]
bpf_loop cb
stxw [%r6+76], %r0
mov %r0, 0
exit
outer:
mov %r6, %r2
ldxw %r1, [%r6+28]
bpf_loop cb
mov %r0, 0
exit
