# SPDX-License-Identifier: MIT
# A function that the outer callback calls has the inner loop: 5 iterations and
# 5 times 7.
# expect: accept constant 40
stdw [%r10-8], 0
mov %r3, %r10
add %r3, -8
mov %r1, 5
lddw func %r2, outer
mov %r4, 0
call 181
mov %r0, 0
exit
outer:
mov %r6, %r2
ldxdw %r7, [%r6]
jgt %r7, 4, many
add %r7, 1
many:
stxdw [%r6], %r7
call local within
mov %r0, 0
exit
within:
mov %r1, 7
bpf_loop inner
mov %r0, 0
exit
inner:
mov %r0, 0
exit
