# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r4, [%r1+64]
ldxw %r3, [%r1+28]
lddw map %r2, @jumps
call 12
mov %r0, 0
exit
