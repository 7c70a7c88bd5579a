# SPDX-License-Identifier: MIT
# the kernel loses the counter after the helper call
# expect: accept
stw [%r10-4], 0
loop:
look @counts
jeq %r0, 0, out
ldxw %r1, [%r10-4]
add %r1, 1
stxw [%r10-4], %r1
jlt %r1, 4, loop
