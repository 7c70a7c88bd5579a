# SPDX-License-Identifier: MIT
# expect: reject map_bounds 13
find @counts
ldxw %r1, [%r0]
mod %r1, 63
stxh [%r10-8], %r1
stb [%r10-7], 1 # near: stb [%r10-6], 1
ldxh %r3, [%r10-8]
add %r0, %r3
ldxb %r2, [%r0]
