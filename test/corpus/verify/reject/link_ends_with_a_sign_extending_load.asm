# SPDX-License-Identifier: MIT
# expect: reject map_bounds 13
mov %r6, %r1
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxw %r2, [%r6+28]
stxw [%r10-8], %r2
ldxsw %r3, [%r10-8] # near: ldxw %r3, [%r10-8]
jsgt %r3, 4, out
add %r0, %r2
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
