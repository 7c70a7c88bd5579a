# SPDX-License-Identifier: MIT
# expect: reject stack_bounds 0
stw [%r10+4], 1 # near: stw [%r10-4], 1
mov %r0, 0
exit
