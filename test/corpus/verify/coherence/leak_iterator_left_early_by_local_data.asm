# SPDX-License-Identifier: MIT
# When the loop is left is local.
# expect: reject local_output 18
# flow: loop count
mov %r7, %r1
ldxw %r3, [%r1+28]
mov %r6, 0
mov %r1, %r10
add %r1, -8
mov %r2, 0
call 0x10001
next:
mov %r1, %r10
add %r1, -8
call 0x10002
jeq %r0, 0, done
call 7 # near: mov %r0, 0
jset %r0, 1, done
add %r6, 1
ja next
done:
mov %r1, %r10
add %r1, -8
call 0x10003
stxw [%r7+76], %r6
mov %r0, 0
exit
