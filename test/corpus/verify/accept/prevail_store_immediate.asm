# SPDX-License-Identifier: MIT
# twin: plus one it is 0
# expect: accept
stdw [%r10-16], -1
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r10-16]
add %r1, 1
add %r0, %r1
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
