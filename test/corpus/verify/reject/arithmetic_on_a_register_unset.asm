# SPDX-License-Identifier: MIT
# expect: reject uninit 0
add %r3, 1 # near: mov %r3, 1
mov %r0, 0
exit
