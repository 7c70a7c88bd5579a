# SPDX-License-Identifier: MIT
# expect: reject uninit 1
call local f
exit
f:
mov %r1, 0 # near: mov %r0, 0
exit
