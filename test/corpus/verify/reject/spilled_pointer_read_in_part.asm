# SPDX-License-Identifier: MIT
# golden
# expect: reject stack_partial 1
stxdw [%r10-8], %r1
ldxw %r0, [%r10-8] # near: ldxdw %r1, [%r10-8]
# near: ldxdw %r0, [%r1+8]
exit
