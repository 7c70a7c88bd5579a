# SPDX-License-Identifier: MIT
# expect: reject local_output 12
# flow: map value
# opts: held
mov %r6, %r1
lddw map_value %r1, @data, 0
call 93
lddw map_value %r2, @data, 8
ldxdw %r7, [%r2]
add %r7, 1 # near: mov %r7, 1
stxdw [%r2], %r7
lddw map_value %r1, @data, 0
call 94
stxw [%r6+76], %r7
mov %r0, 0
exit
