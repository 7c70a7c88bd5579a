# SPDX-License-Identifier: MIT
# expect: reject local_control 8
# flow: look-up
mov %r6, %r1
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @seen # near: lddw map %r1, @counts
call 1
jeq %r0, 0, out
stw [%r6+76], 4
