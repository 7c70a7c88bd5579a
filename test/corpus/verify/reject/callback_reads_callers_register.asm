# SPDX-License-Identifier: MIT
# r6 of the caller is not the callback's.
# expect: reject uninit 9
mov %r6, 1
lddw func %r2, cb
mov %r1, 10
mov %r3, 0
mov %r4, 0
call 181
mov %r0, 0
exit
cb:
mov %r0, %r6 # near: mov %r0, 0
exit
