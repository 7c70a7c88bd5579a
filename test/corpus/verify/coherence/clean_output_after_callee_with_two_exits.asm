# SPDX-License-Identifier: MIT
# Local control inside a function ends with it.
# expect: accept
mov %r6, %r1
ldxw %r1, [%r1+64]
call local f
mov %r0, 0
stw [%r6+76], 4
exit
f:
jeq %r1, 0, z
mov %r0, 1
exit
z:
mov %r0, 2
exit
