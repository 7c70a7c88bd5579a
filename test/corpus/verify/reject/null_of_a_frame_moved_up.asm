# SPDX-License-Identifier: MIT
# expect: reject not_pointer 5
mov %r6, %r10
add %r6, 8 # near: add %r6, -512
jne %r6, 0, out
lddw %r1, 0x1000
stdw [%r1], 42
