# SPDX-License-Identifier: MIT
# expect: reject local_control 8
# flow: arithmetic
ldxw %r6, [%r1+28]
and %r6, 7
mov %r7, %r6
ldxw %r2, [%r1+64]
jeq %r2, 0, join
mov %r7, 100 # near: mov %r8, 100
join:
xor %r6, %r7
jne %r6, 0, out
stw [%r1+76], 4
