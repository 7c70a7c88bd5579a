# SPDX-License-Identifier: MIT
# expect: reject map_bounds 14
# golden
stw [%r10-4], 0
lddw map %r1, @counts
mov %r2, %r10
add %r2, -4
call 1
jeq %r0, 0, out
mov %r3, %r0
add %r3, 56 # near: add %r3, 48
lddw map %r1, @sink
mov %r2, %r10
add %r2, -4
mov %r4, 0
call 2
