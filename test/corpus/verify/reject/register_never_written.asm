# SPDX-License-Identifier: MIT
# expect: reject uninit 0
mov %r0, %r5 # near: mov %r0, 5
exit
