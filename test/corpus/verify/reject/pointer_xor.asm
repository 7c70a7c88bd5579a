# SPDX-License-Identifier: MIT
# expect: reject pointer_op 0
# near: ldxdw %r1, [%r1+8]
xor %r1, 2
mov %r0, 0
exit
