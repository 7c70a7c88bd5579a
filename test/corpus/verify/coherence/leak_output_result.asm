# SPDX-License-Identifier: MIT
# expect: reject local_output 9
# flow: map value
mov %r6, %r1
stdw [%r10-8], 1
lddw map %r1, @ring
mov %r2, %r10
add %r2, -8
mov %r3, 8
mov %r4, 0
call 130
# near: mov %r0, 0
stxw [%r6+76], %r0
mov %r0, 0
exit
