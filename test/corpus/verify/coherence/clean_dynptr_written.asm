# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
mov %r6, %r1
ldxw %r7, [%r6+32]
stxdw [%r10-24], %r7
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, %r10
add %r3, -24
mov %r4, 8
mov %r5, 0
call 202
ldxw %r2, [%r10-24]
stxw [%r6+76], %r2
mov %r0, 0
exit
