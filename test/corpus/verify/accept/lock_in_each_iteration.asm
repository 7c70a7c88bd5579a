# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @locked
call 1
jeq %r0, 0, out
mov %r6, %r0
mov %r1, 20
lddw func %r2, cb
mov %r3, %r6
mov %r4, 0
call 181
out:
mov %r0, 0
exit
cb:
mov %r6, %r2
mov %r1, %r6
add %r1, 4
call 93
ldxdw %r2, [%r6+8]
add %r2, 1
stxdw [%r6+8], %r2
mov %r1, %r6
add %r1, 4
call 94
mov %r0, 0
exit
