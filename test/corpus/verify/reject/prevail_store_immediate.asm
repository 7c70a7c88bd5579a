# SPDX-License-Identifier: MIT
# an immediate of -1 is stored as 8 bytes of ones
# expect: reject map_bounds 10
stdw [%r10-16], -1 # near: stdw [%r10-16], +0
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r10-16]
add %r0, %r1
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
