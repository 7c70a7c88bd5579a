# SPDX-License-Identifier: MIT
# expect: reject map_bounds 10
# Two registers that hold the same number on one way are compared with each
# other.
ldxdw %r8, [%r1]
ldxdw %r9, [%r1+8]
ldxw %r2, [%r1+24]
jeq %r2, 0, join
mov %r9, %r8
join:
jne %r8, %r9, bad
mov %r0, 0
exit
bad:
lddw map_value %r4, @bss, 0
ldxb %r0, [%r4+64] # near: ldxb %r0, [%r4+63]
mov %r0, 0
exit
