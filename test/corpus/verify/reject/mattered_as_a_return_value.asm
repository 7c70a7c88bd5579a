# SPDX-License-Identifier: MIT
# expect: reject map_bounds 10
# Through a function's argument and result.
ldxw %r2, [%r1+24]
mov %r3, 400 # near: mov %r3, 0
jeq %r2, 0, join
mov %r3, 4
join:
mov %r1, %r3
call local f
mov %r3, %r0
read_at @bss, 0, %r3
mov %r0, 0
exit
f:
mov %r0, %r1
add %r0, 1
exit
