# SPDX-License-Identifier: MIT
# expect: reject pointer_range 10
# The distance was added from a register.
ldxw %r2, [%r1+24]
mov %r3, -100
jeq %r2, 0, join
mov %r3, 0
join:
ldxdw %r8, [%r1]
mov %r9, %r8
add %r9, %r3 # near: add %r1, %r3
jgt %r9, 60, out
read_at @bss, 0, %r8
