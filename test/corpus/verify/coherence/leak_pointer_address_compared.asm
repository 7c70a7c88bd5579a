# SPDX-License-Identifier: MIT
# expect: reject local_control 9
# flow: branch
mov %r6, %r1
find @counts
jgt %r0, %r10, out # near:
stw [%r6+76], 4
