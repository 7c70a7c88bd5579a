# SPDX-License-Identifier: MIT
# expect: reject iterator 4
mov %r1, %r10
add %r1, -12 # near: add %r1, -16
mov %r2, 0
mov %r3, 4
call 0x10001
# near: mov %r1, %r10
# near: add %r1, -16
# near: call 0x10003
mov %r0, 0
exit
