# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r7, [%r1+28]
mov %r6, 0
iter_new -8, 0, %r7
next:
iter_next -8
jeq %r0, 0, done
ldxw %r3, [%r0]
iter_over -16, 0
inner:
iter_next -16
jeq %r0, 0, next_outer
add %r6, 3
ja inner
next_outer:
iter_end -16
ja next
done:
iter_end -8
mov %r0, %r6
exit
