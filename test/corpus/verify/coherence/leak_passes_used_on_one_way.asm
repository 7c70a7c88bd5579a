# SPDX-License-Identifier: MIT
# A state with passes left for sure says nothing of one where local data used
# them.
# expect: reject local_control 11
# flow: loop count
ldxw %r2, [%r1+28]
ldxw %r7, [%r1+64] # near: ldxw %r7, [%r1+60]
mov %r6, %r1
jeq %r2, 3, used
ja s
used:
jeq %r7, 0, s
l:
may_goto s
ja l
s:
mov %r0, 0
mov %r7, 0
may_goto e
stw [%r6+76], 4
e:
exit
