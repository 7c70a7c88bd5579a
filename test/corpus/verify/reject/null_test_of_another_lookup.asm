# SPDX-License-Identifier: MIT
# expect: reject nullable 13
lookup @counts, 4
mov %r6, %r0
look @counts
jeq %r0, 0, out # near: jeq %r6, 0, out
ldxdw %r1, [%r6]
