# SPDX-License-Identifier: MIT
# golden
# expect: reject pointer_32 0
# near: ldxdw %r1, [%r1+8]
add32 %r1, 8
mov %r0, 0
exit
