# SPDX-License-Identifier: MIT
# expect: reject arg_memory 3
lddw map %r1, @counts
mov %r2, 77
call 1
mov %r0, 0
exit
