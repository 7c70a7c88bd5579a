# SPDX-License-Identifier: MIT
# expect: reject map_bounds 20
# Other ways part and meet before the number is used.
ldxw %r2, [%r1+24]
mov %r3, 400 # near: mov %r3, 0
jeq %r2, 0, join
mov %r3, 4
join:
ldxw %r2, [%r1+28]
mov %r7, 1
jeq %r2, 0, +1
mov %r7, 2
mov %r5, %r3
ldxw %r2, [%r1+32]
mov %r8, 1
jeq %r2, 0, +1
mov %r8, 2
add %r5, 1
ldxw %r2, [%r1+52]
jeq %r2, 0, +1
mov %r7, 3
read_at @bss, 0, %r5
mov %r0, 0
exit
