# SPDX-License-Identifier: MIT
# expect: reject map_bounds 9
# Through the stack.
ldxw %r2, [%r1+24]
mov %r3, 400 # near: mov %r3, 0
jeq %r2, 0, join
mov %r3, 4
join:
stxdw [%r10-8], %r3
ldxdw %r5, [%r10-8]
read_at @bss, 0, %r5
mov %r0, 0
exit
