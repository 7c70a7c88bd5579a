# SPDX-License-Identifier: MIT
# No byte is read, so it does not matter where; nor may it take for ever.
# expect: accept
ldxdw %r2, [%r1+8]
rsh %r2, 1
mov %r3, %r10
add %r3, %r2
mov %r2, %r3
lddw map %r1, @ring
mov %r3, 0
mov %r4, 0
call 130
mov %r0, 0
exit
