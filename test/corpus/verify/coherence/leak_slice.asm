# SPDX-License-Identifier: MIT
# expect: reject local_output 15
# flow: map value
# opts: held
mov %r6, %r1
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 8
call 203
jeq %r0, 0, out
ldxw %r8, [%r0]
stxw [%r6+76], %r8 # near: stxw [%r10-24], %r8
out:
mov %r0, 0
exit
