# SPDX-License-Identifier: MIT
# golden
# expect: reject iterator 10
iter_new -8, 0, 4
mov %r1, %r10
add %r1, -8 # near:
call 0x10003 # near:
iter_end -8
mov %r0, 0
exit
