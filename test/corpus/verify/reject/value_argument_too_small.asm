# SPDX-License-Identifier: MIT
# expect: reject map_bounds 14
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @seen # near: lddw map %r1, @counts
call 1
jeq %r0, 0, out
mov %r3, %r0
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
mov %r4, 0
call 2
