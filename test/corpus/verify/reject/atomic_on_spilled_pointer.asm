# SPDX-License-Identifier: MIT
# golden
# expect: reject not_pointer 4
stxdw [%r10-8], %r1 # near: stdw [%r10-8], 1
mov %r2, 8
lock add [%r10-8], %r2
ldxdw %r1, [%r10-8] # near: ldxdw %r0, [%r10-8]
ldxdw %r0, [%r1] # near:
exit
