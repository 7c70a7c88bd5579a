# SPDX-License-Identifier: MIT
# golden
# expect: reject callback_return 9
mov %r1, 10
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
mov %r0, 0
exit
cb:
mov %r0, 2 # near: mov %r0, 1
exit
