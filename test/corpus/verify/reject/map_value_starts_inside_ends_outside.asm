# SPDX-License-Identifier: MIT
# expect: reject map_bounds 7
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0+60] # near: ldxdw %r1, [%r0+56]
out:
mov %r0, 0
exit
