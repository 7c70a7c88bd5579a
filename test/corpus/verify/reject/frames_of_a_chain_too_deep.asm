# SPDX-License-Identifier: MIT
# golden
# expect: reject stack_depth 4
stdw [%r10-504], 0 # near: stdw [%r10-488], 0
call local f
mov %r0, 0
exit
f:
stdw [%r10-16], 0
exit
