# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r3, [%r1+28]
iter_over -8, 0
next:
mov %r1, %r10
add %r1, -8
call local step
jne %r0, 0, next
iter_end -8
mov %r0, 0
exit
step:
call 0x10002
jeq %r0, 0, end
mov %r0, 1
end:
exit
