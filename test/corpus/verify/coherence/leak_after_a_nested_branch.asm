# SPDX-License-Identifier: MIT
# The inner branch ends, the outer one still decides.
# expect: reject local_control 6
# flow: branch
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+28]
ldxw %r3, [%r1+64]
jeq %r2, 0, out
jeq %r3, 1, in
mov %r4, 1
in:
mov %r4, 2
stw [%r1+76], 8
