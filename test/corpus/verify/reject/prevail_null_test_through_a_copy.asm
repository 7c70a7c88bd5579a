# SPDX-License-Identifier: MIT
# behind the test of a copy the other one is NULL, too
# expect: reject not_pointer 8
lookup @counts, 4
mov %r6, %r0
jne %r6, 0, some # near: jeq %r6, 0, some
ldxdw %r1, [%r0]
some:
mov %r0, 0
exit
