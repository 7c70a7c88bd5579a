# SPDX-License-Identifier: MIT
# expect: reject map_bounds 10
# x % 0 is x, and x / 0 is 0.
find @counts
mov %r6, 64
mod %r6, 0 # near: div %r6, 0
add %r0, %r6
ldxb %r1, [%r0]
