# SPDX-License-Identifier: MIT
# expect: reject iterator 3
stdw [%r10-8], 0
mov %r1, %r10
add %r1, -8
# near: mov %r2, 0
# near: mov %r3, 4
call 0x10002 # near: call 0x10001
# near: mov %r1, %r10
# near: add %r1, -8
# near: call 0x10003
mov %r0, 0
exit
