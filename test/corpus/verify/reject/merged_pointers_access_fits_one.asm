# SPDX-License-Identifier: MIT
# expect: reject map_bounds 11
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
jeq %r1, 0, one
add %r0, 60 # near: add %r0, 56
ja +0
one:
ldxdw %r2, [%r0]
out:
mov %r0, 0
exit
