# SPDX-License-Identifier: MIT
# One more than the largest number of 32 bits is 0.
# expect: reject not_pointer 6
ldxw %r6, [%r1+28]
mov %r2, %r6
add32 %r2, 1
mov32 %r3, -16
jlt %r6, %r3, +2
jgt %r2, 63, +1
ldxb %r0, [%r2] # near: mov %r0, %r2
mov %r0, 0
exit
