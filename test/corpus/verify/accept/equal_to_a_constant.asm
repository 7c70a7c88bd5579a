# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
jne %r1, 63, out
add %r0, %r1
ldxb %r2, [%r0]
