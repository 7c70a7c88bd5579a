# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
and %r1, 31
add %r0, %r1
ldxb %r2, [%r0+32]
