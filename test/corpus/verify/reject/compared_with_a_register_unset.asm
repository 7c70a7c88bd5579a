# SPDX-License-Identifier: MIT
# expect: reject uninit 1
mov %r0, 0
jgt %r0, %r3, +0 # near: jgt %r0, %r1, +0
exit
