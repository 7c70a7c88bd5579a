# SPDX-License-Identifier: MIT
# expect: reject use_after_release 15
reserve 16
jeq %r0, 0, out
mov %r6, %r0
mov %r1, %r6
mov %r2, 0
call 132 # near:
lddw map %r1, @ring
mov %r2, %r6
mov %r3, 8
mov %r4, 0
call 130
# near: mov %r1, %r6
# near: mov %r2, 0
# near: call 132
