# SPDX-License-Identifier: MIT
# golden
# a test of the low half tells nothing of the high half
# expect: reject pointer_range 10
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jeq %r0, 0, out
ldxdw %r1, [%r0]
jge32 %r1, 2, out # near: jge32 %r1, 1, out
jne32 %r1, 1, out
add %r0, %r1
ldxb %r2, [%r0]
out:
mov %r0, 0
exit
