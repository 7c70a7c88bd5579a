# SPDX-License-Identifier: MIT
# golden
# expect: reject map_write_only 8
find @sink # near: find @counts
mov %r1, 1
lock add [%r0], %r1
