# SPDX-License-Identifier: MIT
# expect: reject local_output 13
# flow: stack
mov %r6, %r1
stdw [%r10-8], 0
reserve 16
jeq %r0, 0, out
stxdw [%r10-8], %r0 # near: stxdw [%r10-16], %r0
submit %r0
out:
ldxw %r7, [%r10-8]
stxw [%r6+76], %r7
mov %r0, 0
exit
