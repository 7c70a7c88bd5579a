# SPDX-License-Identifier: MIT
# expect: reject nullable 15
# So far from its value a pointer may be NULL.
find @counts, 4
mov %r6, %r0
add %r6, -1048576 # near: add %r6, 8
look @counts
jne %r0, %r6, out
ldxb %r1, [%r0]
