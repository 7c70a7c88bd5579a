# SPDX-License-Identifier: MIT
# expect: reject pointer_op 0
neg %r1
mov %r0, 0
exit
