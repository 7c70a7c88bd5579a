# SPDX-License-Identifier: MIT
# expect: reject pointer_op 1
mov %r0, 1
lsh %r0, %r1 # near: lsh %r0, 1
exit
