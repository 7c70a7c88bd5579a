# SPDX-License-Identifier: MIT
# expect: reject memory_bounds 12
reserve 16 # near: reserve 17
jeq %r0, 0, out
mov %r6, %r0
lddw map %r1, @ring
mov %r2, %r6
mov %r3, 17
mov %r4, 0
call 130
submit %r6
