# SPDX-License-Identifier: MIT
# expect: reject local_output 18
# flow: stack
# opts: held
mov %r6, %r1
stdw [%r10-24], 0
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
mov %r1, %r10
add %r1, -24 # near: add %r1, -32
mov %r2, 8
mov %r3, %r10
add %r3, -16
mov %r4, 0
mov %r5, 0
call 201
ldxw %r2, [%r10-24]
stxw [%r6+76], %r2
mov %r0, 0
exit
