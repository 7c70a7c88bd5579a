# SPDX-License-Identifier: MIT
# expect: reject map_bounds 7
# A jump that one way only decides guards an access.
ldxw %r2, [%r1+24]
mov %r3, 1 # near: mov %r3, 0
jeq %r2, 0, join
mov %r3, 0
join:
jeq %r3, 0, safe
lddw map_value %r4, @bss, 0
ldxb %r0, [%r4+64]
safe:
mov %r0, 0
exit
