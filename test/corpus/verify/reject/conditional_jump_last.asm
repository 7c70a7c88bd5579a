# SPDX-License-Identifier: MIT
# golden
# expect: reject fall_off 2
mov %r0, 0
x:
add %r0, 1
jlt %r0, 9, x
# near: exit
