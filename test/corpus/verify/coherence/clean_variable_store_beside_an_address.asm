# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r2, [%r1+28]
and %r2, 3
stxdw [%r10-8], %r1
stdw [%r10-16], 0
mov %r3, %r10
add %r3, %r2
stb [%r3-16], 1
ldxw %r4, [%r10-16]
stxw [%r1+76], %r4
mov %r0, 0
exit
