# SPDX-License-Identifier: MIT
# note: dead_branch 4
ldxw %r2, [%r1+28]
mov %r3, 1
jgt %r2, 8, out
mov %r3, 2
jgt %r2, 9, out # near: jgt %r2, 7, out
mov %r3, 3
out:
stxw [%r1+76], %r3
mov %r0, 0
exit
