# SPDX-License-Identifier: MIT
# expect: reject callback_return 13
# Two ways meet before a callback's exit; one of them answers 2.
mov %r1, 10
lddw func %r2, f
mov %r3, 0
mov %r4, 0
call 181
mov %r0, 0
exit
f:
call 7
jeq %r0, 5, bad
mov %r0, 0
ja join
bad:
mov %r0, 2 # near: mov %r0, 1
join:
exit
