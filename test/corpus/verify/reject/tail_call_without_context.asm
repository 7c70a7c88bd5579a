# SPDX-License-Identifier: MIT
# expect: reject arg_context 4
mov %r1, 0 # near:
mov %r3, 0
lddw map %r2, @loose
call 12
mov %r0, 0
exit
