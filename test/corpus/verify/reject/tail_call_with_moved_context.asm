# SPDX-License-Identifier: MIT
# golden
# expect: reject arg_context 4
add %r1, 8 # near: add %r1, 0
mov %r3, 0
lddw map %r2, @loose
call 12
mov %r0, 0
exit
