# SPDX-License-Identifier: MIT
# expect: reject pointer_sum 0
add %r1, %r10
mov %r0, 0
exit
