# SPDX-License-Identifier: MIT
# expect: accept
mov %r0, 0
mov %r1, 0
loop:
add %r0, %r1
add %r1, 1
jlt %r1, 50, loop
exit
