# SPDX-License-Identifier: MIT
mov %r6, %r1
lddw map %r2, @loose
mov %r3, 0
call 12
mov %r0, 0
exit
