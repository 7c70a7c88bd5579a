# SPDX-License-Identifier: MIT
# golden
# The iterator has ended on the path that is walked first, and may still return
# its 0 on the second; what follows an element reads past the stack's bytes.
# expect: reject stack_uninit 17
mov %r7, %r1
ldxw %r3, [%r7+28]
and %r3, 1
mov %r1, %r10
add %r1, -8
mov %r2, 0
call 0x10001
ldxw %r6, [%r7+32]
jgt %r6, 4, meet
mov %r1, %r10
add %r1, -8
call 0x10002
jne %r0, 0, out
meet:
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
