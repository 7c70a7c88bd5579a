# SPDX-License-Identifier: MIT
# expect: reject local_output 2
# flow: copy
mov %r6, %r1
call 5
# near: mov %r0, 0
stxw [%r6+76], %r0
mov %r0, 0
exit
