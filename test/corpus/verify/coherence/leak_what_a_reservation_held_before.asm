# SPDX-License-Identifier: MIT
# expect: reject local_output 12
# flow: map value
mov %r6, %r1
mov %r8, 0
reserve 16
jeq %r0, 0, out
ldxw %r8, [%r0] # near: ldxw %r1, [%r0]
submit %r0
out:
stxw [%r6+76], %r8
mov %r0, 0
exit
