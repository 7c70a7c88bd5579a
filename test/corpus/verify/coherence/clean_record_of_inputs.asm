# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
reserve 16
jeq %r0, 0, out
ldxw %r2, [%r6+32]
stxw [%r0], %r2
submit %r0
out:
stw [%r6+76], 4
mov %r0, 0
exit
