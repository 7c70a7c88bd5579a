# SPDX-License-Identifier: MIT
# Arguments and array are coherent, whether they are used is not.
# expect: reject local_tail_call 5
# flow: tail call
lddw map %r2, @jumps
mov %r3, 0
ldxw %r4, [%r1+64] # near: ldxw %r4, [%r1+28]
jeq %r4, 0, out
call 12
out:
mov %r0, 0
exit
