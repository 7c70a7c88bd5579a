# SPDX-License-Identifier: MIT
# expect: accept
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
stxdw [%r10-16], %r0
ldxdw %r1, [%r10-16]
jeq %r1, 0, out
ldxdw %r2, [%r10-16]
ldxdw %r3, [%r2]
ldxdw %r3, [%r0]
out:
mov %r0, 0
exit
