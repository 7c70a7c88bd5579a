# SPDX-License-Identifier: MIT
# note: dead_branch 2
ldxw %r2, [%r1+28]
and %r2, 7
jgt %r2, 9, out # near: jgt %r2, 5, out
stxw [%r1+76], %r2
out:
mov %r0, 0
exit
