# SPDX-License-Identifier: MIT
# expect: reject local_output 10
# flow: callback
mov %r6, %r1
stdw [%r10-8], 0
mov %r1, 2
bpf_loop_on cb, -8
ldxdw %r1, [%r10-8]
stxw [%r6+76], %r1
mov %r0, 0
exit
cb:
mov %r6, %r2
call 5 # near: mov %r0, 4
stxdw [%r6], %r0
mov %r0, 0
exit
