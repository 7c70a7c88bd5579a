# SPDX-License-Identifier: MIT
# r0 was never written in the callback.
# expect: reject uninit 9
mov %r0, 0
mov %r1, 3
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
mov %r0, 0
exit
cb:
# near: mov %r0, 0
exit
