# SPDX-License-Identifier: MIT
# It goes on in place of the subprogram, which then returned any number.
# expect: reject pointer_range 11
mov %r6, %r1
stw [%r10-4], 0
lddw map %r1, @counts
mov %r2, %r10
add %r2, -4
call 1
jeq %r0, 0, out
mov %r7, %r0
mov %r1, %r6
call local f
add %r7, %r0 # near: add %r0, %r0
ldxb %r0, [%r7]
out:
mov %r0, 0
exit
f:
lddw map %r2, @loose
mov %r3, 0
call 12
mov %r0, 5
exit
