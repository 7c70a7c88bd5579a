# SPDX-License-Identifier: MIT
# expect: reject map_bounds 14
mov %r6, %r1
find @counts
ldxw %r2, [%r6+28]
and %r2, 3
stxw [%r10-16], %r2
stb [%r10-15], 1 # near: stb [%r10-16], 1
ldxw %r3, [%r10-16]
add %r0, %r3
ldxb %r2, [%r0]
