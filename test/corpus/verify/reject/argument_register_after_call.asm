# SPDX-License-Identifier: MIT
# expect: reject uninit 1
call 5
mov %r0, %r1
exit
