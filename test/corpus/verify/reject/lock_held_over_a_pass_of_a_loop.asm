# SPDX-License-Identifier: MIT
# golden
# expect: reject lock_nested 11
# opts: held
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked
call 1
jeq %r0, 0, out
mov %r6, %r0
mov %r7, 0
again:
mov %r1, %r6
add %r1, 4
call 93
ldxdw %r2, [%r6+8]
add %r2, 1
stxdw [%r6+8], %r2
add %r7, 1
jlt %r7, 20, again # near: jlt %r7, 1, again
mov %r1, %r6
add %r1, 4
call 94
out:
mov %r0, 0
exit
