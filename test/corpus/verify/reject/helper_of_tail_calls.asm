# SPDX-License-Identifier: MIT
# expect: reject helper_unknown 4
lddw map %r1, @ring
mov %r2, 1
mov %r3, 0
call 12 # near: call 134
mov %r0, 0
exit
