# SPDX-License-Identifier: MIT
# expect: reject references 5
# opts: held
mov %r6, 0
again:
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, next
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
next:
add %r6, 1
jlt %r6, 100, again
mov %r0, 0
exit
