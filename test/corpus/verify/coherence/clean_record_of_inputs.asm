# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
mov %r6, %r1
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
ldxw %r2, [%r6+32]
stxw [%r0], %r2
mov %r1, %r0
mov %r2, 0
call 132
out:
stw [%r6+76], 4
mov %r0, 0
exit
