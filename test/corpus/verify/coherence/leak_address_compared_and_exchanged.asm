# SPDX-License-Identifier: MIT
# expect: reject local_output 6
# flow: atomic
mov %r6, %r1
stdw [%r10-8], 1
mov %r0, %r10 # near: mov %r0, 1
mov %r1, 2
lock cmpxchg [%r10-8], %r1
ldxdw %r2, [%r10-8]
stxw [%r6+76], %r2
mov %r0, 0
exit
