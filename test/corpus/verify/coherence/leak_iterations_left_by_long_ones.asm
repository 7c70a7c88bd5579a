# SPDX-License-Identifier: MIT
# A run has 2^25 instructions for iterations. Three loops of 2^23 leave too few for a
# fourth where an iteration takes more than one.
# expect: reject local_output 25
# flow: loop count
mov %r6, %r1
ldxw %r1, [%r6+64]
bpf_loop cb
ldxw %r1, [%r6+64]
bpf_loop cb
ldxw %r1, [%r6+64]
bpf_loop cb
ldxw %r1, [%r6+28]
bpf_loop cb
# near: mov %r0, 0
stxw [%r6+76], %r0
mov %r0, 0
exit
