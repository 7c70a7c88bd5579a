# SPDX-License-Identifier: MIT
# expect: reject map_bounds 10
# Bytes of the stack are 0 only on the way walked first.
ldxw %r2, [%r1+24]
mov %r3, 255 # near: mov %r3, 256
jeq %r2, 0, join
mov %r3, 0
join:
stw [%r10-8], 0
stxb [%r10-8], %r3
ldxw %r5, [%r10-8]
read_at @bss, 0, %r5
mov %r0, 0
exit
