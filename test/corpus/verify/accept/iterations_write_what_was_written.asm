# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r1, [%r1+28]
stdw [%r10-8], 0
lddw func %r2, cb
mov %r3, %r10
add %r3, -8
mov %r4, 0
call 181
ldxdw %r0, [%r10-8]
mov %r0, 0
exit
cb:
stdw [%r2], 7
mov %r0, 0
exit
