# SPDX-License-Identifier: MIT
# golden
# expect: reject recursion 1
cb:
mov %r1, 10
lddw func %r2, cb # near: lddw func %r2, g
mov %r3, 0
mov %r4, 0
call 181
mov %r0, 0
exit
# near: g:
# near: mov %r0, 0
# near: exit
