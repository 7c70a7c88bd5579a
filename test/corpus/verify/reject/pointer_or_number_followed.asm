# SPDX-License-Identifier: MIT
# expect: reject not_pointer 10
find @counts
ldxdw %r1, [%r0]
jeq %r1, 0, one
mov %r0, 8 # near: add %r0, 56
one:
ldxdw %r2, [%r0]
