# SPDX-License-Identifier: MIT
# One process may change the array alone.
# expect: reject local_tail_call 3
lddw map %r2, @loose
mov %r3, 0
call 12
mov %r0, 0
exit
