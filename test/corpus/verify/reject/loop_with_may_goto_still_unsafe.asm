# SPDX-License-Identifier: MIT
# expect: reject map_bounds 12
find @counts
mov %r6, %r0
mov %r7, 0
l:
may_goto out
mov %r1, %r6
add %r1, %r7
ldxb %r2, [%r1]
add %r7, 1 # near: add %r7, 0
ja l
