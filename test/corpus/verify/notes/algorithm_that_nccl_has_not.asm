# SPDX-License-Identifier: MIT
# note: impossible_answer 1
mov %r2, 7 # near: mov %r2, 6
stxw [%r1+68], %r2
mov %r0, 0
exit
