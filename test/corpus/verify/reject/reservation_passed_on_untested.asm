# SPDX-License-Identifier: MIT
# expect: reject arg_null 11
reserve 16
mov %r6, %r0
# near: jeq %r0, 0, out
lddw map %r1, @ring
mov %r2, %r6
mov %r3, 8
mov %r4, 0
call 130
# near: mov %r1, %r6
# near: mov %r2, 0
# near: call 132
# near: out:
mov %r0, 0
exit
