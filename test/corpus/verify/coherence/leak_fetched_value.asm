# SPDX-License-Identifier: MIT
# expect: reject local_output 10
# flow: atomic
mov %r6, %r1
find @counts
mov %r2, 1
lock fetch add [%r0], %r2
stxw [%r6+76], %r2 # near: stw [%r6+76], 1
