# SPDX-License-Identifier: MIT
# The longest iteration of the programs that tail calls lead to decides how many iterations
# there are: a few that local data took may be too many.
# expect: reject local_output 14
# flow: loop count
mov %r6, %r1
ldxw %r1, [%r6+64] # near: ldxw %r1, [%r6+60]
and %r1, 255
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
mov %r1, 1000
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
stxw [%r6+76], %r0
mov %r1, %r6
lddw map %r2, @jumps
mov %r3, 0
call 12
mov %r0, 0
exit
cb:
mov %r0, 0
exit
