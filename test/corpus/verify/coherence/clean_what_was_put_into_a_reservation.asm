# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
ldxw %r8, [%r6+32]
reserve 16
jeq %r0, 0, out
stxw [%r0], %r8
submit %r0
out:
stxw [%r6+76], %r8
mov %r0, 0
exit
