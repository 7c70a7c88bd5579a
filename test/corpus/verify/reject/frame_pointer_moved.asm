# SPDX-License-Identifier: MIT
# expect: reject frame_pointer 0
add %r10, -8
mov %r0, 0
exit
