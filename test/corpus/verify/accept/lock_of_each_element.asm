# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
lddw map %r1, @locked
lddw func %r2, cb
mov %r3, %r10
mov %r4, 0
call 164
mov %r0, 0
exit
cb:
mov %r6, %r3
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
