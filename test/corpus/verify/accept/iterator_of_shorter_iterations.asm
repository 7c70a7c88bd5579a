# SPDX-License-Identifier: MIT
# Twin of iterator_of_long_iterations: with 1600 instructions it fits.
# expect: accept
mov %r6, %r1
mov %r1, %r10
add %r1, -8
mov %r2, 0
ldxw %r3, [%r6+28]
and %r3, 4095
call 0x10001
next:
iter_next -8
jeq %r0, 0, end
mov %r7, 0
again:
add %r7, 1
jne %r7, 800, again
ja next
end:
iter_end -8
mov %r0, 0
exit
