# SPDX-License-Identifier: MIT
# expect: reject frame_pointer 0
# near: mov %r1, %r10
add %r10, -8 # near: add %r1, -8
mov %r0, 0
exit
