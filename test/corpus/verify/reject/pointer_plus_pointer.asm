# SPDX-License-Identifier: MIT
# golden
# expect: reject pointer_sum 0
# near: mov %r1, 0
add %r1, %r10
mov %r0, 0
exit
