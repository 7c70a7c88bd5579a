# SPDX-License-Identifier: MIT
# expect: reject map_bounds 10
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
mod %r1, 65 # near: mod %r1, 64
add %r0, %r1
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
