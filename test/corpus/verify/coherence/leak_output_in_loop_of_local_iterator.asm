# SPDX-License-Identifier: MIT
# expect: reject local_control 10
# flow: loop count
mov %r7, %r1
ldxw %r3, [%r1+64] # near: ldxw %r3, [%r1+60]
mov %r1, %r10
add %r1, -8
mov %r2, 0
call 0x10001
next:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, done
stw [%r7+76], 4
ja next
done:
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
