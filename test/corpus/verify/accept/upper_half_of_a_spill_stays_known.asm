# SPDX-License-Identifier: MIT
# The lower half is overwritten.
# expect: accept
ldxdw %r2, [%r1+8]
and %r2, 7
lsh %r2, 32
stxdw [%r10-8], %r2
stw [%r10-8], 0
ldxw %r5, [%r10-4]
read_at @bss, 0, %r5
mov %r0, 0
exit
