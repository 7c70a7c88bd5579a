# SPDX-License-Identifier: MIT
# twin: the slot beside it
# expect: accept
stxdw [%r10-8], %r1
stdw [%r10-16], 64
ldxdw %r1, [%r10-8]
ldxw %r0, [%r1+28]
exit
