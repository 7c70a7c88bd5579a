# SPDX-License-Identifier: MIT
# golden
# expect: reject complexity 1
mov %r1, 1 # near: mov %r1, 0
loop:
add %r1, 2
jne %r1, 100, loop
mov %r0, 0
exit
