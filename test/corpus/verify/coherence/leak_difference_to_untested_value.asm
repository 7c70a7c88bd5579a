# SPDX-License-Identifier: MIT
# expect: reject local_output 9
# flow: arithmetic
mov %r6, %r1
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
mov %r7, %r10
sub %r7, %r0
stxw [%r6+76], %r7 # near: stxw [%r10-4], %r7
mov %r0, 0
exit
