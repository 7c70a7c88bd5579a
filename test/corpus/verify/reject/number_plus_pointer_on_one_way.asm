# SPDX-License-Identifier: MIT
# The number that a pointer is added to matters as much as one added to it.
# expect: reject map_bounds 17
lookup @counts
jne %r0, 0, +2
mov %r0, 0
exit
mov %r6, %r0
call 7
mov %r7, 0
jeq %r0, 3, more
ja s
more:
mov %r7, 100 # near: mov %r7, 50
s:
mov %r0, 0
add %r7, %r6
ldxb %r0, [%r7]
mov %r0, 0
exit
