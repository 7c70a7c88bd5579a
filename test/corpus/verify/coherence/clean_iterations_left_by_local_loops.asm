# SPDX-License-Identifier: MIT
# Four loops of 2^16 iterations at most, of a few instructions each, find what they
# need: a run has 2^25 instructions for iterations.
# expect: accept
mov %r6, %r1
repeat 3 1 1
ldxw %r1, [%r6+64]
and %r1, 0xffff
bpf_loop cb
end
ldxw %r1, [%r6+28]
and %r1, 0xffff
bpf_loop cb
stxw [%r6+76], %r0
mov %r0, 0
exit
