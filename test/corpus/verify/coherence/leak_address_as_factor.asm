# SPDX-License-Identifier: MIT
# expect: reject local_output 5
# flow: arithmetic
mov %r6, %r1
mov %r1, %r10 # near: mov %r1, 6
mov %r2, 1
mov %r3, 2
call 0x20004
stxw [%r6+76], %r0
mov %r0, 0
exit
