# SPDX-License-Identifier: MIT
# expect: accept
mov %r0, 0
mov %r1, 0
a:
mov %r2, 0
b:
add %r0, 1
add %r2, 1
jlt %r2, 8, b
add %r1, 1
jlt %r1, 8, a
exit
