# SPDX-License-Identifier: MIT
# expect: reject use_after_release 11
reserve 16
jeq %r0, 0, out
mov %r6, %r0
stxdw [%r10-8], %r0
ldxdw %r1, [%r10-8]
mov %r2, 0
call 132 # near:
stdw [%r6], 1
# near: call 132
