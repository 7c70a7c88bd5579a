# SPDX-License-Identifier: MIT
# The callback makes a number of the pointer that it may find there.
# expect: reject not_pointer 9
stxdw [%r10-8], %r1
mov %r1, 2
# near: stdw [%r10-16], 0
bpf_loop_on cb, -8 # near: bpf_loop_on cb, -16
ldxdw %r1, [%r10-8]
ldxdw %r0, [%r1]
mov %r0, 0
exit
cb:
stdw [%r2], 7
mov %r0, 0
exit
