# SPDX-License-Identifier: MIT
# The first byte fits, another one need not.
# expect: reject map_bounds 9
ldxdw %r2, [%r1+8]
and %r2, 7 # near: and %r2, 0
lddw map_value %r3, @rodata, 0
add %r3, %r2
ldxb %r4, [%r3]
lddw map_value %r5, @bss, 0
add %r5, %r4
ldxb %r0, [%r5]
mov %r0, 0
exit
