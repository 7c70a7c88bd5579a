# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxw %r1, [%r0]
and %r1, 255
stxb [%r10-8], %r1
jgt %r1, 60, out
ldxb %r3, [%r10-8]
add %r0, %r3
ldxw %r2, [%r0]
