# SPDX-License-Identifier: MIT
# expect: accept
ldxdw %r6, [%r1+8]
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
jeq %r6, 0, b
lddw map %r1, @counts
ja c
b:
lddw map %r1, @counts
c:
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
