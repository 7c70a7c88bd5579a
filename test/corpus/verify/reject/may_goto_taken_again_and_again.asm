# SPDX-License-Identifier: MIT
# the budget ends the inner jump, not the loop around it
# expect: reject endless_loop 3
mov %r0, 0 # near: mov %r0, 7
l:
may_goto n
mov %r1, 1
n:
jlt %r0, 5, l
exit
