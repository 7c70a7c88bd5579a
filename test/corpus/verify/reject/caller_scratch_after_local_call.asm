# SPDX-License-Identifier: MIT
# expect: reject uninit 2
mov %r3, 7
call local f
mov %r0, %r3 # near: mov %r0, 0
exit
f:
mov %r0, 0
exit
