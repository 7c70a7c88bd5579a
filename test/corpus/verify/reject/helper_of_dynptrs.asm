# SPDX-License-Identifier: MIT
# expect: reject helper_unknown 5
lddw map %r1, @ring
mov %r2, 8
mov %r3, 0
mov %r4, 0
call 198 # near: call 134
mov %r0, 0
exit
