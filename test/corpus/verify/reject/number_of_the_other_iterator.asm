# SPDX-License-Identifier: MIT
# Each pointer is to the number of its own iterator.
# expect: reject map_bounds 38
ldxw %r7, [%r1+28]
and %r7, 1023
lookup @counts
jne %r0, 0, +2
mov %r0, 0
exit
mov %r9, %r0
mov %r6, 0
iter_new -8, 0, 3
iter_new -16, 0, %r7
iter_next -8
iter_next -16 # near: iter_next -8
jeq %r0, 0, out
ldxw %r6, [%r0]
out:
iter_end -8
iter_end -16
add %r9, %r6
ldxb %r0, [%r9]
mov %r0, 0
exit
