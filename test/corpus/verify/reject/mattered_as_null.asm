# SPDX-License-Identifier: MIT
# expect: reject nullable 11
# A look-up's result is compared with a register that holds 0 on one way only.
ldxw %r2, [%r1+24]
mov %r7, 8 # near: mov %r7, 0
jeq %r2, 0, join
mov %r7, 0
join:
lookup @counts, 4
jeq %r0, %r7, out
ldxb %r3, [%r0]
