# SPDX-License-Identifier: MIT
# expect: accept
# A walk that widens the counter is rejected: there the callback calls deep,
# and both frames together are too large. No run calls it.
stdw [%r10-8], 0
stdw [%r10-256], 0
mov %r1, 4
bpf_loop_on cb, -8
ldxdw %r1, [%r10-8]
lddw map_value %r2, @rodata, 0
add %r2, %r1
ldxb %r1, [%r2]
mov %r0, 0
exit
cb:
ldxdw %r3, [%r2]
add %r3, 1
stxdw [%r2], %r3
jgt %r3, 9, much
mov %r0, 0
exit
much:
call local deep
mov %r0, 0
exit
deep:
stdw [%r10-384], 0
mov %r0, 0
exit
