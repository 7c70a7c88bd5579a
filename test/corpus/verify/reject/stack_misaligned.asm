# SPDX-License-Identifier: MIT
# golden
# expect: reject stack_align 0
stdw [%r10-12], 1 # near: stdw [%r10-16], 1
mov %r0, 0
exit
