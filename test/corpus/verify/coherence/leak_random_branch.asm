# SPDX-License-Identifier: MIT
# expect: reject local_control 3
# flow: branch
mov %r6, %r1
call 7
jset %r0, 1, +1 # near: jset %r0, 1, +0
stw [%r6+76], 4
mov %r0, 0
exit
