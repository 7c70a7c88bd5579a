# SPDX-License-Identifier: MIT
# expect: reject uninit 6
lddw func %r2, cb
mov %r1, 10
mov %r3, 0
mov %r4, 0
call 181
mov %r0, %r3 # near: mov %r0, 0
exit
