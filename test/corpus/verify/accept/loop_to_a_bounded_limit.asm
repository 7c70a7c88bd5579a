# SPDX-License-Identifier: MIT
# expect: accept
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
and %r1, 15
mov %r2, 0
loop:
jge %r2, %r1, out
mov %r3, %r0
add %r3, %r2
ldxb %r4, [%r3]
add %r2, 1
ja loop
out:
mov %r0, 0
exit
