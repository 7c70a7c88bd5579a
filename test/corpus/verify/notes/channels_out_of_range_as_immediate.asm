# SPDX-License-Identifier: MIT
# note: impossible_answer 0
stw [%r1+76], 65 # near: stw [%r1+76], 64
mov %r0, 0
exit
