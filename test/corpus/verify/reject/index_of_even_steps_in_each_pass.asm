# SPDX-License-Identifier: MIT
# expect: reject map_bounds 13
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
jgt %r7, 63, out
mov %r1, %r6
add %r1, %r7
ldxh %r2, [%r1]
add %r7, 1 # near: add %r7, 2
ja l
out:
mov %r0, 0
exit
