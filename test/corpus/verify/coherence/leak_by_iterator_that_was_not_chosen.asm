# SPDX-License-Identifier: MIT
# Some ranks step the second iterator here. The others know its next number, which is local all
# the same.
# expect: reject local_control 24
# flow: loop count
mov %r6, %r1
ldxw %r7, [%r6+64] # near: ldxw %r7, [%r6+60]
iter_new -8, 0, 10
iter_new -16, 0, 10
mov %r1, %r10
add %r1, -8
jeq %r7, 0, s
mov %r1, %r10
add %r1, -16
s:
call 0x10002
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
