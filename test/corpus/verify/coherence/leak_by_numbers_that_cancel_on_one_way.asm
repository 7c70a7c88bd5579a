# SPDX-License-Identifier: MIT
# expect: reject local_output 9
# flow: arithmetic
# The difference of two local numbers is 0 where they are the same one.
ldxw %r8, [%r1+64]
mov %r7, %r1
mov %r6, %r8
call 5
mov %r9, %r0
ldxw %r2, [%r7+24]
jeq %r2, 0, join
mov %r8, %r0
join:
sub %r9, %r8 # near: sub %r9, %r9
stxw [%r7+76], %r9
mov %r0, 0
exit
