# SPDX-License-Identifier: MIT
# twin: plus one it is 0
# expect: accept
stdw [%r10-16], -1
find @counts
ldxdw %r1, [%r10-16]
add %r1, 1
add %r0, %r1
ldxb %r2, [%r0]
