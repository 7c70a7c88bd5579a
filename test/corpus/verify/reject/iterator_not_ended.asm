# SPDX-License-Identifier: MIT
# golden
# expect: reject iterator_leak 17
ldxw %r3, [%r1+28]
mov %r6, 0
iter_over -8, 0
next:
iter_next -8
jeq %r0, 0, done
ldxw %r1, [%r0]
add %r6, %r1
ja next
done:
mov %r1, %r10
add %r1, -8
mov %r0, 0 # near: call 0x10003
mov %r0, %r6
exit
