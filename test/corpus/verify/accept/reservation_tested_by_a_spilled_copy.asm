# SPDX-License-Identifier: MIT
# expect: accept
reserve 16
mov %r6, %r0
stxdw [%r10-8], %r0
ldxdw %r1, [%r10-8]
jeq %r1, 0, out
stdw [%r6], 1
ldxdw %r1, [%r10-8]
mov %r2, 0
call 132
