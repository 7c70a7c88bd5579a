# SPDX-License-Identifier: MIT
# Some ranks take a number more: the pointer of all shows the latest one.
# expect: reject local_output 18
# flow: loop count
mov %r7, %r1
ldxw %r8, [%r1+64] # near: ldxw %r8, [%r1+60]
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 100
call 0x10001
mov %r1, %r10
add %r1, -8
call 0x10002
mov %r9, %r0
jeq %r8, 0, same
mov %r1, %r10
add %r1, -8
call 0x10002
same:
mov %r6, 0
jeq %r9, 0, done
ldxw %r6, [%r9]
done:
stxw [%r7+76], %r6
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
