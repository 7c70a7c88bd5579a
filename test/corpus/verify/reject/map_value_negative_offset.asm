# SPDX-License-Identifier: MIT
# expect: reject map_bounds 7
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxb %r1, [%r0-1] # near: ldxb %r1, [%r0+63]
out:
mov %r0, 0
exit
