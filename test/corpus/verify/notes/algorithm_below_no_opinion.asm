# SPDX-License-Identifier: MIT
# note: impossible_answer 1
mov %r2, -2 # near: mov %r2, -1
stxw [%r1+68], %r2
mov %r0, 0
exit
