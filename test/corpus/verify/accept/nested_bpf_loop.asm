# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r1, [%r1+28]
stdw [%r10-8], 0
bpf_loop_on outer, -8
ldxdw %r0, [%r10-8]
exit
outer:
mov %r3, %r2
mov %r1, 20
lddw func %r2, inner
mov %r4, 0
call 181
mov %r0, 0
exit
inner:
ldxdw %r3, [%r2]
add %r3, %r1
stxdw [%r2], %r3
mov %r0, 0
exit
