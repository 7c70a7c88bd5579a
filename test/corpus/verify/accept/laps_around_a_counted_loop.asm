# SPDX-License-Identifier: MIT
# A loop walked lap by lap is part of each turn.
# expect: accept lap 84 first 89 numbers 0
mov %r1, 9
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
mov %r0, 0
exit
cb:
mov %r6, 0
l:
add %r6, 1
jne %r6, 40, l
mov %r0, 0
exit
