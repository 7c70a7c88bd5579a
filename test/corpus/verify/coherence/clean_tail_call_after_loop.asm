# SPDX-License-Identifier: MIT
# As many iterations on all ranks.
# expect: accept
mov %r6, %r1
ldxw %r1, [%r6+28]
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
mov %r1, %r6
lddw map %r2, @jumps
mov %r3, 0
call 12
mov %r0, 0
exit
cb:
mov %r0, 0
exit
