# SPDX-License-Identifier: MIT
# The loop may take no iteration: then nothing was written.
# expect: reject stack_uninit 7
ldxw %r1, [%r1+28]
# near: stdw [%r10-8], 0
bpf_loop_on cb, -8
ldxdw %r0, [%r10-8]
mov %r0, 0
exit
cb:
stdw [%r2], 7
mov %r0, 0
exit
