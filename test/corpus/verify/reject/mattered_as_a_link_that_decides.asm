# SPDX-License-Identifier: MIT
# expect: reject map_bounds 11
# After a test of one the other's is decided, where they are linked.
ldxdw %r8, [%r1]
ldxdw %r9, [%r1+8]
ldxw %r2, [%r1+24]
jeq %r2, 0, join
mov %r9, %r8
join:
jgt %r8, 10, out
jgt %r9, 10, bad
out:
mov %r0, 0
exit
bad:
lddw map_value %r4, @bss, 0
ldxb %r0, [%r4+64] # near: ldxb %r0, [%r4+63]
mov %r0, 0
exit
