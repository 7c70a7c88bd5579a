# SPDX-License-Identifier: MIT
# The helper's answer is the number of iterations.
# expect: reject local_output 7
# flow: callback
mov %r6, %r1
ldxw %r1, [%r6+64] # near: ldxw %r1, [%r6+60]
bpf_loop cb
stxw [%r6+76], %r0
mov %r0, 0
exit
