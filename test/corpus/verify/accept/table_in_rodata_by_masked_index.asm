# SPDX-License-Identifier: MIT
# expect: accept
ldxdw %r3, [%r1+8]
lddw map_value %r2, @rodata, 0
and %r3, 15
lsh %r3, 2
add %r2, %r3
ldxw %r0, [%r2]
exit
