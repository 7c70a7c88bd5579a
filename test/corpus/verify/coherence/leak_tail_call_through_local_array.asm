# SPDX-License-Identifier: MIT
# One process may change the array alone.
# expect: reject local_tail_call 3
# flow: tail call
lddw map %r2, @loose # near: lddw map %r2, @jumps
mov %r3, 0
call 12
mov %r0, 0
exit
