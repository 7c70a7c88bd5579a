# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 6
lddw map %r1, @ring
mov %r2, %r10
add %r2, -8
mov %r3, 8 # near: mov %r3, 0
mov %r4, 0
call 130
mov %r0, 0
exit
