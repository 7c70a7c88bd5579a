# SPDX-License-Identifier: MIT
# expect: reject map_bounds 8
find @counts
mov %r1, 1
lock add [%r0+64], %r1 # near: lock add [%r0+56], %r1
