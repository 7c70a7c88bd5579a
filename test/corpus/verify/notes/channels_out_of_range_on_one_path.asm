# SPDX-License-Identifier: MIT
# note: impossible_answer 4
ldxw %r2, [%r1+28]
mov %r3, 8
jlt %r2, 16, low
mov %r3, 200 # near: mov %r3, 128
stxw [%r1+76], %r3
ja out
low:
stxw [%r1+76], %r3
