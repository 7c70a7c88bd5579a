# SPDX-License-Identifier: MIT
# note: dead_branch 2
ldxw %r2, [%r1+28]
and %r2, 7
jle %r2, 9, out # near: jle %r2, 5, out
mov %r2, 1
out:
stxw [%r1+76], %r2
mov %r0, 0
exit
