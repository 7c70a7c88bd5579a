# SPDX-License-Identifier: MIT
# known low halves do not make the bounds of the result known
# expect: reject map_bounds 14
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
lddw %r2, 0x1ffffffff # near: lddw %r2, 8589934592
and %r1, %r2
mov32 %r3, %r1
and32 %r3, -1
add %r0, %r3
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
