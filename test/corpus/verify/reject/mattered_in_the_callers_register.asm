# SPDX-License-Identifier: MIT
# expect: reject map_bounds 10
# In a saved register of the caller, across joins in the function called.
ldxw %r2, [%r1+24]
mov %r7, 400 # near: mov %r7, 0
jeq %r2, 0, join
mov %r7, 4
join:
mov %r6, %r1
ldxw %r1, [%r1+28]
call local f
read_at @bss, 0, %r7
mov %r0, 0
exit
f:
mov %r0, 1
jeq %r1, 0, +1
mov %r0, 2
mov %r2, %r0
exit
