# SPDX-License-Identifier: MIT
# Four bytes of a pointer as a key: they differ between processes.
# expect: reject local_output 9
# flow: look-up
mov %r6, %r1
stxdw [%r10-8], %r1 # near: stdw [%r10-8], 1
look @limits
jeq %r0, 0, out
ldxw %r2, [%r0]
stxw [%r6+76], %r2
