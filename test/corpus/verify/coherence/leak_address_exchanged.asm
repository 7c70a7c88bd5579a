# SPDX-License-Identifier: MIT
# expect: reject local_output 4
# flow: atomic
mov %r6, %r1
stdw [%r10-8], 1
lock xchg [%r10-8], %r1
ldxdw %r2, [%r10-8]
stxw [%r6+76], %r2 # near: stxw [%r6+76], %r1
mov %r0, 0
exit
