# SPDX-License-Identifier: MIT
# expect: accept
mov %r1, 0
loop:
add %r1, 2
jne %r1, 100, loop
mov %r0, 0
exit
