# SPDX-License-Identifier: MIT
# a sign-extending move of 32 bits drops the upper half, whatever was known
# expect: reject map_bounds 14
find @counts
ldxdw %r1, [%r0]
lddw %r2, 0x7fffffff0 # near: lddw %r2, 34359738368
and %r1, 7
or %r1, %r2
movsx3264 %r1, %r1
add %r0, %r1
ldxb %r2, [%r0]
