# SPDX-License-Identifier: MIT
# Local data is looked at in each iteration and decides nothing.
# expect: accept
mov %r7, %r1
ldxw %r3, [%r1+28]
mov %r6, 0
iter_over -8, 0
next:
iter_next -8
jeq %r0, 0, done
call 7
jset %r0, 1, on
on:
add %r6, 1
ja next
done:
iter_end -8
stxw [%r7+76], %r6
mov %r0, 0
exit
