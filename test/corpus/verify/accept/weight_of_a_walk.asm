# SPDX-License-Identifier: MIT
# An element that a walked hash may have counts as four instructions, and each step
# as 2 for each of the 32 elements that a bucket may have; the elements of
# an array are iterations and nothing else.
# expect: accept iteration 72 first 109 iter_steps 0
lddw map %r1, @seen
for_each cb
lddw map %r1, @counts
for_each cb
mov %r0, 0
exit
