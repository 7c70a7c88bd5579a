# SPDX-License-Identifier: MIT
# A number is no function, also if it is that of this one.
# expect: reject callback 4
mov %r1, 3
mov %r2, 0 # near: lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
mov %r0, 0
exit
# near: cb:
# near: mov %r0, 0
# near: exit
