# SPDX-License-Identifier: MIT
# twin: it counts
# expect: accept
mov %r6, %r1
mov %r1, 0
call local f
ldxw %r1, [%r6+28]
and %r1, 7
call local f
mov %r0, 0
exit
f:
jeq %r1, 0, done
again:
add %r1, -1
jne %r1, 0, again
done:
mov %r0, 0
exit
