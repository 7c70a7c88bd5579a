# SPDX-License-Identifier: MIT
# expect: reject pointer_op 0
rsh %r1, 2
mov %r0, 0
exit
