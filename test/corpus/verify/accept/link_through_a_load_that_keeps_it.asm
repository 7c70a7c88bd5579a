# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
find @counts
ldxw %r2, [%r6+28]
stxw [%r10-8], %r2
ldxw %r3, [%r10-8]
jgt %r3, 4, out
add %r0, %r2
ldxb %r2, [%r0]
