# SPDX-License-Identifier: MIT
# expect: reject pointer_range 13
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
and %r1, 63
stxdw [%r10-16], %r1
ldxdw %r4, [%r0]
stxw [%r10-12], %r4 # near: stxw [%r10-8], %r4
ldxdw %r3, [%r10-16]
add %r0, %r3
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
