# SPDX-License-Identifier: MIT
# How many iterations there are is local: so is what they add up.
# expect: reject local_output 10
# flow: loop count
mov %r6, %r1
stdw [%r10-8], 0
ldxw %r1, [%r6+64] # near: ldxw %r1, [%r6+60]
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
