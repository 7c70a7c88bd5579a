# SPDX-License-Identifier: MIT
# expect: accept
find @counts
jeq %r0, %r10, out
ldxdw %r1, [%r0]
