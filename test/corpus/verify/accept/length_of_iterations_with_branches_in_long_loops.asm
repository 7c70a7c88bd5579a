# SPDX-License-Identifier: MIT
# Ways that leave a long loop in each iteration, or take longer in it.
# expect: accept iteration 4 first 725 iter_steps 0
mov %r6, %r1
mov %r7, 0
l:
ldxw %r2, [%r6+28]
jeq %r2, 3, long
ja s
long:
mov %r3, 1
mov %r3, 1
mov %r3, 1
mov %r3, 1
s:
mov %r2, 0
mov %r3, 0
ldxw %r2, [%r6+28]
jeq %r2, 5, out
add %r7, 1
jne %r7, 60, l
out:
mov %r0, 0
may_goto e
ja out
e:
exit
