# SPDX-License-Identifier: MIT
# expect: reject uninit 3
mov %r6, 1
call local f
exit
f:
mov %r0, %r6
exit
