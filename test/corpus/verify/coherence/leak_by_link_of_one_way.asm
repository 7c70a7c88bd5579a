# SPDX-License-Identifier: MIT
# One path knows that both numbers are the same, so their difference is 0. Other ranks took
# the path where they differ, so the difference is local on both.
# expect: reject local_control 8
# flow: arithmetic
ldxw %r6, [%r1+28]
and %r6, 7
mov %r7, %r6
ldxw %r2, [%r1+64]
jeq %r2, 0, join
mov %r7, 100 # near: mov %r8, 100
join:
sub %r7, %r6
jne %r7, 0, out
stw [%r1+76], 4
