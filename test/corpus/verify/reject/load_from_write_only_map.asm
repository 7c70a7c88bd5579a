# SPDX-License-Identifier: MIT
# expect: reject map_write_only 7
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @sink # near: lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
out:
mov %r0, 0
exit
