# SPDX-License-Identifier: MIT
# expect: reject map_bounds 6
lddw map_value %r2, @rodata, 0 # near: lddw map_value %r2, @rodata, 7
ldxw %r3, [%r2]
lddw map_value %r4, @bss, 0
add %r4, %r3
ldxb %r0, [%r4+32]
exit
