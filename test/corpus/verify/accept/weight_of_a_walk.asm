# SPDX-License-Identifier: MIT
# An element that a walked hash may have counts as four instructions, and each step
# as 2 for each of the 32 elements that a bucket may have; the elements of
# an array are iterations and nothing else.
# expect: accept iteration 64 first 109 iter_steps 0
lddw map %r1, @seen
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 164
lddw map %r1, @counts
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 164
mov %r0, 0
exit
cb:
mov %r0, 0
exit
