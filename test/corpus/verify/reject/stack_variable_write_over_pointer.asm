# SPDX-License-Identifier: MIT
# expect: reject not_pointer 7
stxdw [%r10-8], %r1
ldxdw %r3, [%r1+8]
and %r3, 7
mov %r2, %r10
add %r2, %r3
stb [%r2-8], 7 # near: stb [%r2-16], 7
ldxdw %r1, [%r10-8]
ldxdw %r0, [%r1]
exit
