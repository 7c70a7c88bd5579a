# SPDX-License-Identifier: MIT
# The helper's answer is the number of iterations.
# expect: accept
mov %r6, %r1
ldxw %r7, [%r6+64]
ldxw %r1, [%r6+28]
bpf_loop cb
stxw [%r6+76], %r0
mov %r0, 0
exit
