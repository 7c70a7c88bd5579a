# SPDX-License-Identifier: MIT
# It returns 0, then 2.
# expect: reject callback_return 10
mov %r1, 10
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
mov %r0, 0
exit
cb:
mov %r0, %r1
lsh %r0, 1 # near: lsh %r0, 0
exit
