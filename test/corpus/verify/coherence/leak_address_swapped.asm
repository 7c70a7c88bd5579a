# SPDX-License-Identifier: MIT
# expect: reject local_output 2
# flow: arithmetic
mov %r6, %r1
be64 %r1
stxw [%r6+76], %r1 # near: stxw [%r10-4], %r1
mov %r0, 0
exit
