# SPDX-License-Identifier: MIT
# expect: reject dynptr_leak 16
# opts: held
mov %r1, 10
lddw func %r2, cb
mov %r3, 0
mov %r4, 0
call 181
mov %r0, 0
exit
cb:
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
# near: mov %r1, %r10
# near: add %r1, -16
# near: mov %r2, 0
# near: call 199
mov %r0, 0
exit
