# SPDX-License-Identifier: MIT
# expect: reject local_output 5
# flow: atomic
mov %r6, %r1
stxdw [%r10-8], %r1 # near: stdw [%r10-8], 1
mov %r2, 8
lock add [%r10-8], %r2
ldxdw %r1, [%r10-8]
stxw [%r6+76], %r1
mov %r0, 0
exit
