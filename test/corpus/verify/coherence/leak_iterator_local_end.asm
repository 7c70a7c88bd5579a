# SPDX-License-Identifier: MIT
# How many numbers there are is local: so is their count.
# expect: reject local_output 16
# flow: loop count
mov %r7, %r1
ldxw %r3, [%r1+64] # near: ldxw %r3, [%r1+60]
mov %r6, 0
iter_over -8, 0
next:
iter_next -8
jeq %r0, 0, done
add %r6, 1
ja next
done:
iter_end -8
stxw [%r7+76], %r6
mov %r0, 0
exit
