# SPDX-License-Identifier: MIT
# Each number may be any; that two become one ends the loop.
# expect: accept
ldxdw %r6, [%r1]
ldxdw %r7, [%r1+8]
mov %r8, %r6
mov %r9, %r7
l:
jeq %r8, %r9, out
mov %r7, %r6
mov %r9, %r8
ja l
out:
mov %r0, %r6
add %r0, %r7
mov %r0, 0
exit
