# SPDX-License-Identifier: MIT
# upper half of a pointer read
# expect: reject stack_partial 1
# near: ldxdw %r1, [%r1+8]
stxdw [%r10-8], %r1
ldxw %r0, [%r10-4]
exit
