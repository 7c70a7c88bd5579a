# SPDX-License-Identifier: MIT
# Its offset from the frame pointer is not its address.
# expect: reject iterator 6
iter_new -16, 0, 3
mov %r1, -16 # near: mov %r1, %r10
# near: add %r1, -16
call 0x10002
# near: mov %r1, %r10
# near: add %r1, -16
# near: call 0x10003
mov %r0, 0
exit
