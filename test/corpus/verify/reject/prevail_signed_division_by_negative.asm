# SPDX-License-Identifier: MIT
# 7 by -1 to -4 is -7 to -1
# expect: reject map_bounds 14
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
and %r1, 3
mov %r2, -1 # near: mov %r2, 6
sub %r2, %r1
mov %r1, 7
sdiv %r1, %r2
add %r0, %r1
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
