# SPDX-License-Identifier: MIT
# expect: reject map_bounds 16
mov %r6, %r1
find @counts
ldxw %r2, [%r6+28]
and %r2, 3
stxw [%r10-16], %r2
mov %r3, %r10
add %r3, %r2
stb [%r3-16], 200 # near: stb [%r3-12], 200
ldxw %r3, [%r10-16]
add %r0, %r3
ldxb %r2, [%r0]
