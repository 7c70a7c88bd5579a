# SPDX-License-Identifier: MIT
# golden
# expect: reject stack_escape 10
stdw [%r10-8], 0
mov %r1, 2
bpf_loop_on cb, -8
mov %r0, 0
exit
cb:
stxdw [%r2], %r10 # near: stdw [%r2], 1
mov %r0, 0
exit
