# SPDX-License-Identifier: MIT
# expect: reject object_write 12
# opts: held
ldxw %r6, [%r1+32]
and %r6, 8 # near: and %r6, 0
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
mov %r7, %r10
add %r7, -24
add %r7, %r6
stdw [%r7], 0
mov %r1, %r10
add %r1, -16
mov %r2, 0
call 199
mov %r0, 0
exit
