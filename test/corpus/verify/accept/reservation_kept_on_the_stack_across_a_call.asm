# SPDX-License-Identifier: MIT
# expect: accept
reserve 16
jeq %r0, 0, out
stxdw [%r10-8], %r0
call 5
ldxdw %r1, [%r10-8]
stxdw [%r1], %r0
mov %r2, 0
call 132
