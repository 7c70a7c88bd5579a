# SPDX-License-Identifier: MIT
# A byte of any value, and beside it bytes that were 0 until others came.
# expect: reject map_bounds 9
stdw [%r10-8], 0
ldxdw %r2, [%r1+8]
and %r2, 3
stxb [%r10-8], %r2
sth [%r10-6], -1 # near: sth [%r10-6], 0
ldxw %r5, [%r10-8]
read_at @bss, 60, %r5
mov %r0, 0
exit
