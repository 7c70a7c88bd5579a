# SPDX-License-Identifier: MIT
# Where it starts is local: so is the number it gives.
# expect: reject local_output 13
# flow: loop count
mov %r7, %r1
ldxw %r2, [%r1+64] # near: ldxw %r2, [%r1+60]
and %r2, 3
mov %r1, %r10
add %r1, -8
mov %r3, 100
call 0x10001
iter_next -8
mov %r6, 0
jeq %r0, 0, done
ldxw %r6, [%r0]
done:
stxw [%r7+76], %r6
iter_end -8
mov %r0, 0
exit
