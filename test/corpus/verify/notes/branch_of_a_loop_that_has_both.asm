# SPDX-License-Identifier: MIT
# note: dead_branch 5
mov %r2, 0
mov %r3, 0
more:
add %r2, 2
add %r3, %r2
jlt %r2, 8, more
jgt %r3, 20, out # near: stxw [%r1+76], %r3
stxw [%r1+76], %r3
out:
mov %r0, 0
exit
