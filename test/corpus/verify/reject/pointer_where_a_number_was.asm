# SPDX-License-Identifier: MIT
# A state with a number in r6 says nothing of one with a pointer in it.
# expect: reject pointer_op 6
ldxw %r7, [%r1+28]
ldxdw %r6, [%r1]
jeq %r7, 3, more
ja s
more:
mov %r6, %r10 # near: mov %r6, 8
s:
mov %r7, 0
mul %r6, 2
mov %r0, %r6
exit
