# SPDX-License-Identifier: MIT
# behind the test of a copy the other one is NULL, too
# expect: reject not_pointer 8
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
mov %r6, %r0
jne %r6, 0, some # near: jeq %r6, 0, some
ldxdw %r1, [%r0]
some:
mov %r0, 0
exit
