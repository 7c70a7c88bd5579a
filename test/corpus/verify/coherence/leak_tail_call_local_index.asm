# SPDX-License-Identifier: MIT
# expect: reject local_tail_call 3
ldxw %r3, [%r1+64]
lddw map %r2, @jumps
call 12
mov %r0, 0
exit
