# SPDX-License-Identifier: MIT
# note: impossible_answer 2
lddw %r2, 0x800000003 # near: lddw %r2, 0x800000002
stxdw [%r1+72], %r2
mov %r0, 0
exit
