# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @seen
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
ldxdw %r2, [%r0+8]
add %r1, 1
stxdw [%r10-24], %r1
stxdw [%r10-16], %r2
mov %r2, %r10
add %r2, -8
mov %r3, %r10
add %r3, -24
lddw map %r1, @seen
mov %r4, 0
call 2
