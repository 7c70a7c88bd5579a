# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r3, [%r1+28]
mov %r1, %r10
add %r1, -8
mov %r2, 0
call 0x10001
next:
mov %r1, %r10
add %r1, -8
call local step
jne %r0, 0, next
mov %r1, %r10
add %r1, -8
call 0x10003
mov %r0, 0
exit
step:
call 0x10002
jeq %r0, 0, end
mov %r0, 1
end:
exit
