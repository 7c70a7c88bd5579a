# SPDX-License-Identifier: MIT
# As a branch around the output.
# expect: reject local_control 9
# flow: look-up
mov %r6, %r1
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @percpu
mov %r3, 7
call 195 # near: call 1
jeq %r0, 0, out
stw [%r6+76], 5
