# SPDX-License-Identifier: MIT
# expect: reject use_after_release 11
reserve 16
jeq %r0, 0, out
stxdw [%r10-8], %r0
mov %r1, %r0
mov %r2, 0
call 132 # near:
ldxdw %r6, [%r10-8]
ldxdw %r0, [%r6]
# near: call 132
