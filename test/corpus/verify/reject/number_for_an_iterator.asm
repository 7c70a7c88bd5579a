# SPDX-License-Identifier: MIT
# Its offset from the frame pointer is not its address.
# expect: reject iterator 6
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 3
call 0x10001
mov %r1, -16 # near: mov %r1, %r10
# near: add %r1, -16
call 0x10002
# near: mov %r1, %r10
# near: add %r1, -16
# near: call 0x10003
mov %r0, 0
exit
