# SPDX-License-Identifier: MIT
# expect: accept
mov %r0, 0
mov %r1, 40
loop:
add %r0, 2
sub %r1, 1
jne %r1, 0, loop
exit
