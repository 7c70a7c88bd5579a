# SPDX-License-Identifier: MIT
# expect: reject nullable 15
# The value has 64 bytes, so a pointer 65 bytes ahead may wrap to NULL.
find @counts, 4
mov %r6, %r0
add %r6, 65 # near: add %r6, 64
look @counts
jne %r0, %r6, out
ldxb %r1, [%r0]
