# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
jset %r1, -64, out
add %r0, %r1
ldxb %r2, [%r0]
