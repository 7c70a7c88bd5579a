# SPDX-License-Identifier: MIT
# expect: reject local_control 10
# flow: branch
mov %r6, %r1
reserve 16
jeq %r0, 0, out
submit %r0
stw [%r6+76], 4 # near: mov %r7, 4
