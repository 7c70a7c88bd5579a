# SPDX-License-Identifier: MIT
# The iterator's number was behind this address, which is a plain number now.
# expect: reject local_output 13
# flow: copy
mov %r6, %r1
mov %r1, %r10
add %r1, -8
mov %r2, 0
mov %r3, 4
call 0x10001
mov %r1, %r10
add %r1, -8
call 0x10002
mov %r7, %r0 # near: mov %r7, 4
mov %r1, %r10
add %r1, -8
call 0x10003
stxw [%r6+76], %r7
mov %r0, 0
exit
