# SPDX-License-Identifier: MIT
# expect: reject map_bounds 12
find @counts
ldxw %r1, [%r0]
and %r1, 0x1f0
stxb [%r10-8], %r1
ldxb %r3, [%r10-8] # near: ldxb %r3, [%r10-4]
add %r0, %r3
ldxb %r2, [%r0]
