# SPDX-License-Identifier: MIT
# golden
# expect: reject atomic_align 8
find @counts
mov %r1, 1
lock add [%r0+4], %r1 # near: lock add [%r0+0], %r1
