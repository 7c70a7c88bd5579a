# SPDX-License-Identifier: MIT
# A number on the caller's stack is an index after the loop, which moved it.
# expect: reject map_bounds 18
stdw [%r10-8], 0
mov %r1, 100
bpf_loop_on cb, -8
stw [%r10-12], 0
lddw map %r1, @counts
mov %r2, %r10
add %r2, -12
call 1
jeq %r0, 0, out
ldxdw %r1, [%r10-8]
jgt %r1, 100, out
add %r0, %r1
ldxb %r0, [%r0]
out:
mov %r0, 0
exit
cb:
ldxdw %r3, [%r2]
add %r3, 1 # near: add %r3, 0
stxdw [%r2], %r3
mov %r0, 0
exit
