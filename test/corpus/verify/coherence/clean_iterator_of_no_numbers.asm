# SPDX-License-Identifier: MIT
# Where it ends is local, but it ends before it began.
# expect: accept
mov %r7, %r1
ldxw %r2, [%r1+64]
and %r2, 3
mov %r1, %r10
add %r1, -8
mov %r3, 0
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
