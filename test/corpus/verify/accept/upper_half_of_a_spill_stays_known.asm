# SPDX-License-Identifier: MIT
# The lower half is overwritten.
# expect: accept
ldxdw %r2, [%r1+8]
and %r2, 7
lsh %r2, 32
stxdw [%r10-8], %r2
stw [%r10-8], 0
ldxw %r5, [%r10-4]
lddw map_value %r4, @bss, 0
add %r4, %r5
ldxb %r0, [%r4]
mov %r0, 0
exit
