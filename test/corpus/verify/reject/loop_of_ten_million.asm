# SPDX-License-Identifier: MIT
# expect: reject complexity 1
mov %r1, 0
loop:
add %r1, 1
jne %r1, 10000000, loop # near: jne %r1, 8, loop
mov %r0, 0
exit
