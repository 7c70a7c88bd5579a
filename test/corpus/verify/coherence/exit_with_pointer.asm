# SPDX-License-Identifier: MIT
# golden
# flow: copy
# expect: reject return_pointer 1
mov %r0, %r1 # near: mov %r0, 0
exit
