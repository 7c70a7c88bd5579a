# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
stdw [%r10-8], 1
mov %r2, %r10
add %r2, -8
lddw map %r1, @chosen
call 1
jne %r0, 0, +0
jne %r0, 0, out
stw [%r6+76], 4
