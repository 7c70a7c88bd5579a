# SPDX-License-Identifier: MIT
# A loop in a callback is begun in each iteration: 8000 times 8000 iterations are more than
# a run has.
# expect: reject local_output 17
# flow: loop count
mov %r6, %r1
ldxw %r1, [%r6+64] # near: ldxw %r1, [%r6+60]
and %r1, 255
bpf_loop cb
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
