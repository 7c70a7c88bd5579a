# SPDX-License-Identifier: MIT
# expect: reject local_control 4
# flow: branch
mov %r6, %r1
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+60]
mov %r3, 4
jeq %r2, 0, out
stxw [%r6+76], %r3
