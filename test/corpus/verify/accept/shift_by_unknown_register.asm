# SPDX-License-Identifier: MIT
# expect: accept
find @counts
ldxdw %r1, [%r0]
ldxdw %r2, [%r0+8]
lsh %r1, %r2
arsh32 %r1, %r2
rsh %r1, %r2
