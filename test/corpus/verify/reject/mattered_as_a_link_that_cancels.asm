# SPDX-License-Identifier: MIT
# expect: reject pointer_range 8
# A difference is 0 only where both are the same number.
ldxdw %r8, [%r1]
ldxdw %r9, [%r1+8]
ldxw %r2, [%r1+24]
jeq %r2, 0, join
mov %r9, %r8
join:
sub %r9, %r8 # near: sub %r9, %r9
read_at @bss, 0, %r9
mov %r0, 0
exit
