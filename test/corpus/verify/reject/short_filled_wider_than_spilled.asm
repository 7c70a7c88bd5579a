# SPDX-License-Identifier: MIT
# expect: reject map_bounds 13
find @counts
ldxw %r1, [%r0]
and %r1, 63
stw [%r10-8], -1 # near: stw [%r10-8], +0
stxb [%r10-8], %r1
ldxh %r3, [%r10-8]
add %r0, %r3
ldxb %r2, [%r0]
