# SPDX-License-Identifier: MIT
# expect: reject not_pointer 3
stxdw [%r10-8], %r1
stw [%r10-4], 0 # near: stw [%r10-12], 0
ldxdw %r1, [%r10-8]
ldxdw %r0, [%r1]
exit
