# SPDX-License-Identifier: MIT
# Short iterators come to their end for sure: 4095 numbers with 10000
# instructions after each are more than a run may take.
# golden
# expect: reject run_length 6
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
add %r7, 1 # near: add %r7, 2
jne %r7, 5000, again
ja next
end:
iter_end -8
mov %r0, 0
exit
