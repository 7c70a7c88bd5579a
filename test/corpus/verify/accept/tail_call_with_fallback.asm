# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r3, [%r1+28]
lddw map %r2, @loose
call 12
mov %r0, 7
exit
