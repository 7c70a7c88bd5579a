# SPDX-License-Identifier: MIT
# expect: reject memory_bounds 14
stw [%r10-4], 0
reserve 8 # near: reserve 16
jeq %r0, 0, out
mov %r6, %r0
lddw map %r1, @sink
mov %r2, %r10
add %r2, -4
mov %r3, %r6
mov %r4, 0
call 2
submit %r6
