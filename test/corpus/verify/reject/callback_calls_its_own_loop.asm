# SPDX-License-Identifier: MIT
# golden
# expect: reject recursion 1
cb:
mov %r1, 10
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
mov %r0, 0
exit
