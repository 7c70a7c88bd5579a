# SPDX-License-Identifier: MIT
# golden
# The iterator has one number on one path and two on the other; what follows
# the second number reads bytes of the stack that were never written.
# expect: reject stack_uninit 18
ldxw %r6, [%r1+32]
mov %r3, 1
jgt %r6, 4, begin
mov %r3, 2
begin:
mov %r1, %r10
add %r1, -8
mov %r2, 0
call 0x10001
jgt %r6, 8, meet
mov %r0, 0
meet:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, out
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, out
ldxdw %r2, [%r10-64] # near:
out:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
