# SPDX-License-Identifier: MIT
# expect: reject frame_pointer 0
mov %r10, 0 # near: mov %r1, 0
mov %r0, 0
exit
