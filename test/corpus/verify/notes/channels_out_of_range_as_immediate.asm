# SPDX-License-Identifier: MIT
# note: impossible_answer 0
stw [%r1+76], 129 # near: stw [%r1+76], 128
mov %r0, 0
exit
