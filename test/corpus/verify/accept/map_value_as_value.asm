# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @seen
call 1
jeq %r0, 0, out
mov %r3, %r0
mov %r2, %r0
lddw map %r1, @seen
mov %r4, 0
call 2
