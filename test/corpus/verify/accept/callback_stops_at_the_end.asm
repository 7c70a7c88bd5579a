# SPDX-License-Identifier: MIT
# The callback stores, counts, and stops before its counter leaves the value.
# expect: accept
mov %r6, 0
stw [%r10-12], 0
lddw map %r1, @counts
mov %r2, %r10
add %r2, -12
call 1
jeq %r0, 0, out
stxdw [%r10-8], %r0
stdw [%r10-24], 0
mov %r1, 1000
bpf_loop_on cb, -24
out:
mov %r0, 0
exit
cb:
ldxdw %r3, [%r2]
ldxdw %r4, [%r2+16]
add %r4, %r3
stb [%r4], 1
add %r3, 1
stxdw [%r2], %r3
mov %r0, 1
jgt %r3, 63, stop
mov %r0, 0
stop:
exit
