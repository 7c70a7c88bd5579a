# SPDX-License-Identifier: MIT
# expect: reject local_output 3
# flow: map value
lddw map_value %r2, @bss, 0 # near: lddw map_value %r2, @rodata, 0
ldxw %r2, [%r2]
stxw [%r1+76], %r2
mov %r0, 0
exit
