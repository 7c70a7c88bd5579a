# SPDX-License-Identifier: MIT
# The iterator says which number it is, not the pointer on the stack.
# expect: reject map_bounds 28
ldxw %r7, [%r1+28]
and %r7, 1023 # near: and %r7, 1
stw [%r10-4], 0
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
jne %r0, 0, +2
mov %r0, 0
exit
mov %r9, %r0
mov %r6, 0
mov %r1, %r10
add %r1, -24
mov %r2, 0
mov %r3, %r7
call 0x10001
mov %r1, %r10
add %r1, -24
call 0x10002
stxdw [%r10-8], %r0
jeq %r0, 0, out
ldxw %r6, [%r0]
out:
mov %r1, %r10
add %r1, -24
call 0x10003
add %r9, %r6
ldxb %r0, [%r9]
mov %r0, 0
exit
