# SPDX-License-Identifier: MIT
# expect: reject stack_bounds 0
stdw [%r10-520], 1 # near: stdw [%r10-512], 1
mov %r0, 0
exit
