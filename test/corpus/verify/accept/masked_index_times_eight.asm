# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
and %r1, 7
mul %r1, 8
add %r0, %r1
ldxdw %r2, [%r0]
