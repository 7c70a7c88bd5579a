# SPDX-License-Identifier: MIT
# expect: reject atomic_align 11
find @counts
ldxdw %r1, [%r0]
and %r1, 7 # near: and %r1, 8
add %r0, %r1
mov %r2, 1
lock add [%r0+8], %r2
