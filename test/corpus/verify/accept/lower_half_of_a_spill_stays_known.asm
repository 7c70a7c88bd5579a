# SPDX-License-Identifier: MIT
# A byte of the upper half is overwritten, which has no bearing on the lower.
# expect: accept
ldxdw %r2, [%r1+8]
and %r2, 7
stxdw [%r10-8], %r2
stb [%r10-1], 1
ldxw %r5, [%r10-8]
read_at @bss, 0, %r5
mov %r0, 0
exit
