# SPDX-License-Identifier: MIT
# a test of one copy makes neither way of a test of the other impossible
# expect: accept
lookup @counts, 4
mov %r6, %r0
jeq %r6, 0, none
jeq %r0, 0, none
ldxdw %r1, [%r0]
ldxdw %r2, [%r6]
none:
mov %r0, 0
exit
