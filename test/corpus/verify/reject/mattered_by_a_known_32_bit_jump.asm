# SPDX-License-Identifier: MIT
# expect: reject map_bounds 9
# The same with a comparison of the lower halves.
ldxw %r2, [%r1+24]
mov %r3, -1 # near: mov %r3, 0
jeq %r2, 0, join
mov %r3, 6
join:
jgt32 %r3, 100, bad
mov %r0, 0
exit
bad:
lddw map_value %r4, @bss, 0
ldxb %r0, [%r4+64]
mov %r0, 0
exit
