# SPDX-License-Identifier: MIT
# expect: accept
reserve 16
jeq %r0, 0, out
mov %r6, %r0
lddw map %r1, @ring
mov %r2, %r6
mov %r3, 16
mov %r4, 0
call 130
submit %r6
