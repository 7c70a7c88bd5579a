# SPDX-License-Identifier: MIT
# golden
# expect: reject callback_release 19
# opts: held
lddw map %r1, @ring
mov %r2, 16
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 198
mov %r6, %r10
add %r6, -16
mov %r1, 1
lddw func %r2, cb
mov %r3, %r6
mov %r4, 0
call 181
# near: mov %r1, %r6
# near: mov %r2, 0
# near: call 199
mov %r0, 0
exit
cb:
mov %r1, %r2
mov %r2, 0
call 199 # near:
mov %r0, 0
exit
