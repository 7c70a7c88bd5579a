# SPDX-License-Identifier: MIT
# expect: reject not_pointer 4
add %r1, -8 # near: add %r1, 8
jne %r1, 0, out
lddw %r1, 0x1000
stdw [%r1], 42
