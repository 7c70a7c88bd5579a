# SPDX-License-Identifier: MIT
# expect: reject local_output 9
# flow: map value
mov %r6, %r1
find @counts # near: find @limits
ldxw %r2, [%r0]
stxw [%r6+76], %r2
