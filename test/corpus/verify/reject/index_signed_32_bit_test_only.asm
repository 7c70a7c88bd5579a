# SPDX-License-Identifier: MIT
# expect: reject pointer_range 9
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0] # near: ldxw %r1, [%r0]
jsgt32 %r1, 63, out # near: jgt32 %r1, 63, out
add %r0, %r1
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
