# SPDX-License-Identifier: MIT
# expect: reject local_output 6
# flow: map value
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+60]
lddw map_value %r3, @rodata, 0
and %r2, 15
add %r3, %r2
ldxb %r2, [%r3]
stxw [%r1+76], %r2
mov %r0, 0
exit
