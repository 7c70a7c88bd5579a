# SPDX-License-Identifier: MIT
# the same offset, and 4 more in the instruction: the value from its start on
# expect: accept
mov %r6, 0
stxw [%r10-4], %r6
lddw map %r1, @counts
mov %r2, %r10
add %r2, -4
call 1
jeq %r0, 0, out
mov %r1, -4
add %r0, %r1
ldxdw %r6, [%r0+4]
