# SPDX-License-Identifier: MIT
# an address that went through memory as bytes is a number when it comes back; its twin does not
# leave it behind, as it differs from run to run
# expect: reject not_pointer 20
mov %r6, 0
stxdw [%r10-8], %r6
stxdw [%r10-16], %r10
mov %r6, 0
stxdw [%r10-24], %r6
lddw map %r1, @seen
mov %r2, %r10
add %r2, -8
mov %r3, %r10
add %r3, -24
mov %r4, 0
call 2
lddw map %r1, @seen
mov %r2, %r10
add %r2, -8
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0+8]
ldxdw %r2, [%r1+0] # near: stxdw [%r0+8], %r6
