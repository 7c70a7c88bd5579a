# SPDX-License-Identifier: MIT
# golden
# expect: reject pointer_op 1
mov %r0, 8
sub %r0, %r1 # near: sub %r0, 1
exit
