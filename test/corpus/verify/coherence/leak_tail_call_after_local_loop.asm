# SPDX-License-Identifier: MIT
# The target goes on with the iterations that the loop left.
# expect: reject local_tail_call 11
# flow: tail call
mov %r6, %r1
ldxw %r1, [%r6+64] # near: ldxw %r1, [%r6+60]
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
mov %r1, %r6
lddw map %r2, @jumps
mov %r3, 0
call 12
mov %r0, 0
exit
cb:
mov %r0, 0
exit
