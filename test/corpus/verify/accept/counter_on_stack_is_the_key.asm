# SPDX-License-Identifier: MIT
# the kernel loses the counter after the helper call
# expect: accept
stw [%r10-4], 0
loop:
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxw %r1, [%r10-4]
add %r1, 1
stxw [%r10-4], %r1
jlt %r1, 4, loop
out:
mov %r0, 0
exit
