# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-8], 7
lddw map %r1, @ring
mov %r2, %r10
add %r2, -8
mov %r3, 8
mov %r4, 0
call 130
lddw map %r1, @ring
mov %r2, 0
call 134
mov %r0, 0
exit
