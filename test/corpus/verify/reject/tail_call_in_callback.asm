# SPDX-License-Identifier: MIT
# golden
# expect: reject tail_call 12
mov %r3, %r1
mov %r1, 2
lddw func %r2, cb
mov %r4, 0
call 181
mov %r0, 0
exit
cb:
mov %r1, %r2
lddw map %r2, @loose
mov %r3, 0
call 12 # near:
mov %r0, 0
exit
