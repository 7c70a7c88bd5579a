# SPDX-License-Identifier: MIT
# expect: reject map_bounds 10
# x % 0 is x, and x / 0 is 0.
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov %r6, 64
mod %r6, 0 # near: div %r6, 0
add %r0, %r6
ldxb %r1, [%r0]
out:
mov %r0, 0
exit
