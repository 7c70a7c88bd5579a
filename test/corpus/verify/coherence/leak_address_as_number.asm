# SPDX-License-Identifier: MIT
# expect: reject local_output 3
# flow: arithmetic
mov %r6, %r1
mov %r2, %r10
sub %r2, %r1
# near: mov %r2, 0
stxw [%r6+76], %r2
mov %r0, 0
exit
