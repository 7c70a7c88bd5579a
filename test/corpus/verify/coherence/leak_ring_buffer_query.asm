# SPDX-License-Identifier: MIT
# expect: reject local_output 5
# flow: copy
mov %r6, %r1
lddw map %r1, @ring
mov %r2, 0
call 134
# near: mov %r0, 0
stxw [%r6+76], %r0
mov %r0, 0
exit
