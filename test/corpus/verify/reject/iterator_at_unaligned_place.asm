# SPDX-License-Identifier: MIT
# expect: reject iterator 4
iter_new -12, 0, 4 # near: iter_new -16, 0, 4
# near: mov %r1, %r10
# near: add %r1, -16
# near: call 0x10003
mov %r0, 0
exit
