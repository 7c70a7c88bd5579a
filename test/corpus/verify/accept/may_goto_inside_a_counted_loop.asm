# SPDX-License-Identifier: MIT
# expect: accept
mov %r0, 0
l:
may_goto n
mov %r1, 1
n:
add %r0, 1
jlt %r0, 5, l
exit
