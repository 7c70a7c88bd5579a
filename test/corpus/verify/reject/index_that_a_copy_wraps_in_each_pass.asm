# SPDX-License-Identifier: MIT
# expect: reject map_bounds 12
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov %r6, %r0
mov %r7, 0
l:
may_goto out
mov %r1, %r6
add %r1, %r7
ldxb %r2, [%r1]
add %r7, 1
mov %r1, %r7
lsh %r1, 32
rsh %r1, 32
jne %r1, 65, l # near: jne %r1, 64, l
mov %r7, 0
ja l
out:
mov %r0, 0
exit
