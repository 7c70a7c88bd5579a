# SPDX-License-Identifier: MIT
# The pointer's constant on the way where nothing was found is local too.
# expect: reject local_control 9
# flow: look-up
mov %r6, %r1
stdw [%r10-8], 1
mov %r2, %r10
add %r2, -8
lddw map %r1, @seen # near: lddw map %r1, @counts
call 1
jne %r0, 0, +0
jne %r0, 0, out
stw [%r6+76], 4
