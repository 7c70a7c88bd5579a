# SPDX-License-Identifier: MIT
# It starts alike on all ranks.
# expect: accept
mov %r7, %r1
ldxw %r4, [%r1+64]
ldxw %r2, [%r1+28]
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
