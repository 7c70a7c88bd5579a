# SPDX-License-Identifier: MIT
# Four bytes of a pointer as a key: they differ between processes.
# expect: reject local_output 9
# flow: look-up
mov %r6, %r1
stxdw [%r10-8], %r1 # near: stdw [%r10-8], 1
mov %r2, %r10
add %r2, -4
lddw map %r1, @limits
call 1
jeq %r0, 0, out
ldxw %r2, [%r0]
stxw [%r6+76], %r2
out:
mov %r0, 0
exit
