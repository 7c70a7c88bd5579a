# SPDX-License-Identifier: MIT
# golden
# expect: reject frame_pointer 0
ldxdw %r10, [%r1] # near: ldxdw %r0, [%r1]
mov %r0, 0
exit
