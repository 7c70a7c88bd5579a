# SPDX-License-Identifier: MIT
# expect: reject local_control 9
# flow: loop count
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+28]
mov %r6, %r1
mov %r0, 0
jeq %r2, 0, s
l:
may_goto s
ja l
s:
may_goto e
mov %r7, 1
ja +0
stw [%r6+76], 4
e:
exit
