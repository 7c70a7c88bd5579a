# SPDX-License-Identifier: MIT
# expect: reject use_after_release 11
reserve 16
jeq %r0, 0, out
stxdw [%r10-8], %r0
mov %r1, %r10
add %r1, -8
call local f
ldxdw %r1, [%r10-8] # near:
stdw [%r1], 1 # near:
out:
mov %r0, 0
exit
f:
ldxdw %r1, [%r1]
mov %r2, 0
call 132
mov %r0, 0
exit
