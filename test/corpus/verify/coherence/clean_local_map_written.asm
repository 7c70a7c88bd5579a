# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
find @counts
mov %r2, 1
lock add [%r0], %r2
out:
stw [%r6+76], 4
mov %r0, 0
exit
