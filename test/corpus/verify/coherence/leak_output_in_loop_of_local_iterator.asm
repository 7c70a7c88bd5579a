# SPDX-License-Identifier: MIT
# expect: reject local_control 10
# flow: loop count
mov %r7, %r1
ldxw %r3, [%r1+64] # near: ldxw %r3, [%r1+60]
iter_over -8, 0
next:
iter_next -8
jeq %r0, 0, done
stw [%r7+76], 4
ja next
done:
iter_end -8
mov %r0, 0
exit
