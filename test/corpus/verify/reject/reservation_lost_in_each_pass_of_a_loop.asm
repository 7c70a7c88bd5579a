# SPDX-License-Identifier: MIT
# expect: reject references 5
mov %r6, 0
again:
reserve 16
jeq %r0, 0, next
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
next:
add %r6, 1
jlt %r6, 100, again
mov %r0, 0
exit
