# SPDX-License-Identifier: MIT
# expect: reject nullable 13
lookup @counts, 4
mov %r6, %r0 # near: mov %r6, %r10
look @counts
jne %r0, %r6, out
ldxb %r1, [%r0]
