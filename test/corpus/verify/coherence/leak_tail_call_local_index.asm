# SPDX-License-Identifier: MIT
# expect: reject local_tail_call 3
# flow: tail call
ldxw %r3, [%r1+64] # near: ldxw %r3, [%r1+60]
lddw map %r2, @jumps
call 12
mov %r0, 0
exit
