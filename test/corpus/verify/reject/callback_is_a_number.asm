# SPDX-License-Identifier: MIT
# golden
# expect: reject callback 4
mov %r1, 10
mov %r2, 8 # near: lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
mov %r0, 0
exit
# near: cb:
# near: mov %r0, 0
# near: exit
