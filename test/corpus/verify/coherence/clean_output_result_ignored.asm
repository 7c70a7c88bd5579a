# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
stdw [%r10-8], 1
lddw map %r1, @ring
mov %r2, %r10
add %r2, -8
mov %r3, 8
mov %r4, 0
call 130
stw [%r6+76], 4
mov %r0, 0
exit
