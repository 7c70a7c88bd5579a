# SPDX-License-Identifier: MIT
# Only that both are the same number changes, which ends the loop.
# expect: accept
ldxdw %r6, [%r1]
ldxdw %r7, [%r1+8]
l:
jeq %r6, %r7, out
mov %r6, %r7
ja l
