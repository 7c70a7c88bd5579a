# SPDX-License-Identifier: MIT
# expect: reject pointer_op 0
div %r1, 2
mov %r0, 0
exit
