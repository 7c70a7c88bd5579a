# SPDX-License-Identifier: MIT
# expect: reject map_bounds 8
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov %r1, 1
lock add [%r0+64], %r1 # near: lock add [%r0+56], %r1
out:
mov %r0, 0
exit
