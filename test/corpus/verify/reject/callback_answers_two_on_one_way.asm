# SPDX-License-Identifier: MIT
# Nothing in the callback asks for its answer, but the helper does.
# expect: reject callback_return 17
ldxw %r6, [%r1+28]
stxdw [%r10-8], %r6
mov %r1, 3
bpf_loop_on cb, -8
mov %r0, 0
exit
cb:
ldxdw %r1, [%r2]
mov %r0, 0
jeq %r1, 3, more
ja s
more:
mov %r0, 2 # near: mov %r0, 1
s:
mov %r1, 0
exit
