# SPDX-License-Identifier: MIT
# golden
# The paths differ in r6, so the loop's start is reached far more than 200 times.
# expect: reject complexity 3
mov %r6, 1
mov %r7, 0
loop:
call 7
jset %r0, 1, odd
mul %r6, 3
ja next
odd:
mul %r6, 5 # near: mul %r6, 3
next:
add %r7, 1
jlt %r7, 200, loop
jeq %r6, 12345, out
mov %r0, 0
exit
out:
mov %r0, 1
exit
