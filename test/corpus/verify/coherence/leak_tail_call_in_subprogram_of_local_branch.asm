# SPDX-License-Identifier: MIT
# expect: reject local_tail_call 8
# flow: tail call
ldxw %r3, [%r1+64] # near: ldxw %r3, [%r1+60]
jeq %r3, 0, out
call local f
out:
mov %r0, 0
exit
f:
lddw map %r2, @jumps
mov %r3, 0
call 12
mov %r0, 0
exit
