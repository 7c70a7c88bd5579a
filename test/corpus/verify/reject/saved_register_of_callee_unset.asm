# SPDX-License-Identifier: MIT
# expect: reject uninit 3
mov %r6, 1
call local f
exit
f:
# near: mov %r6, 0
mov %r0, %r6
exit
