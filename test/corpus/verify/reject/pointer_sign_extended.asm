# SPDX-License-Identifier: MIT
# expect: reject pointer_op 0
# near: ldxdw %r1, [%r1+8]
movsx3264 %r2, %r1
mov %r0, 0
exit
