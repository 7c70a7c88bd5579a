# SPDX-License-Identifier: MIT
# expect: reject local_output 9
# flow: arithmetic
mov %r6, %r1
lookup @counts
mov %r7, %r10
sub %r7, %r0
stxw [%r6+76], %r7 # near: stxw [%r10-4], %r7
mov %r0, 0
exit
