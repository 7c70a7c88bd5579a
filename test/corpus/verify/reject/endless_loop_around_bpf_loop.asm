# SPDX-License-Identifier: MIT
# while (flag) { flag = 0; bpf_loop(1, set, &flag, 0); } never ends.
# expect: reject endless_loop 1
stdw [%r10-8], 1 # near: stdw [%r10-8], 0
again:
ldxdw %r1, [%r10-8]
jeq %r1, 0, out
stdw [%r10-8], 0
mov %r1, 1
bpf_loop_on set, -8
ja again
out:
mov %r0, 0
exit
set:
mov %r6, %r2
call 7
jeq %r0, 1, nop
nop:
stdw [%r6], 1
mov %r0, 0
exit
