# SPDX-License-Identifier: MIT
# When the loop is left is local.
# expect: reject local_output 18
# flow: loop count
mov %r7, %r1
ldxw %r3, [%r1+28]
mov %r6, 0
iter_over -8, 0
next:
iter_next -8
jeq %r0, 0, done
call 7 # near: mov %r0, 0
jset %r0, 1, done
add %r6, 1
ja next
done:
iter_end -8
stxw [%r7+76], %r6
mov %r0, 0
exit
