# SPDX-License-Identifier: MIT
# expect: reject nullable 14
find @counts, 4
mov %r6, %r0
look @counts
jne %r0, %r6, other # near: jne %r0, %r6, out
other:
ldxb %r1, [%r0]
