# SPDX-License-Identifier: MIT
# golden
# expect: reject release_twice 10
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
call 131
jeq %r0, 0, out
mov %r6, %r0
mov %r7, 0
again:
mov %r1, %r6
mov %r2, 0
call 132
add %r7, 1
jlt %r7, 50, again # near: jlt %r7, 1, again
out:
mov %r0, 0
exit
