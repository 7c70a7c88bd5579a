# SPDX-License-Identifier: MIT
# expect: reject map_bounds 10
find @counts
mov %r6, 64
smod32 %r6, 0 # near: sdiv32 %r6, 0
add %r0, %r6
ldxb %r1, [%r0]
