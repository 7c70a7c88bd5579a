# SPDX-License-Identifier: MIT
# expect: accept
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov %r6, %r0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jne %r0, %r6, out
ldxb %r1, [%r0]
out:
mov %r0, 0
exit
