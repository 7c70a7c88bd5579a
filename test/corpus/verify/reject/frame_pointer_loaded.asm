# SPDX-License-Identifier: MIT
# expect: reject frame_pointer 0
ldxdw %r10, [%r1]
mov %r0, 0
exit
