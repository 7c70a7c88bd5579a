# SPDX-License-Identifier: MIT
# expect: reject nullable 8
lookup @counts, 4
jge %r0, 0, use # near: jne %r0, 0, use
ja out
use:
ldxb %r1, [%r0]
