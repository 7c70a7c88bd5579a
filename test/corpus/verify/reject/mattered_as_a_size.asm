# SPDX-License-Identifier: MIT
# expect: reject stack_bounds 8
# A helper's size.
ldxw %r2, [%r1+24]
mov %r3, 400 # near: mov %r3, 1
jeq %r2, 0, join
mov %r3, 4
join:
stdw [%r10-8], 37
mov %r1, %r10
add %r1, -8
mov %r2, %r3
call 6
mov %r0, 0
exit
