# SPDX-License-Identifier: MIT
# expect: accept
mov %r7, %r1
ldxw %r4, [%r1+64]
ldxw %r3, [%r1+28]
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
