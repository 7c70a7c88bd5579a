# SPDX-License-Identifier: MIT
# Some ranks begin the second iterator again. The others know its next number, which is local
# all the same.
# expect: reject local_control 28
# flow: loop count
mov %r6, %r1
ldxw %r2, [%r6+64] # near: ldxw %r2, [%r6+60]
mov %r7, %r10
add %r7, -8
jeq %r2, 0, s
add %r7, -8
s:
iter_new -8, 0, 10
iter_new -16, 0, 10
mov %r1, %r7
call 0x10003
mov %r1, %r7
mov %r2, 5
mov %r3, 10
call 0x10001
iter_next -16
jeq %r0, 0, end
ldxw %r1, [%r0]
jne %r1, 0, end
stw [%r6+76], 4
end:
iter_end -8
iter_end -16
mov %r0, 0
exit
