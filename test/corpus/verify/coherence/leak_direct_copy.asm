# SPDX-License-Identifier: MIT
# expect: reject local_output 1
ldxw %r2, [%r1+64]
stxw [%r1+76], %r2
mov %r0, 0
exit
