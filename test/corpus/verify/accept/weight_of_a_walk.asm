# SPDX-License-Identifier: MIT
# Four buckets of a hash that is walked count as an instruction, and each step
# as the 32 elements that a bucket may have; the elements of
# an array are turns and nothing else.
# expect: accept lap 32 first 47 numbers 0
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
