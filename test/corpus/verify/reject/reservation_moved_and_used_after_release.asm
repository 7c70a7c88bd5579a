# SPDX-License-Identifier: MIT
# expect: reject use_after_release 12
reserve 16
jeq %r0, 0, out
mov %r6, %r0
mov %r7, %r6
add %r7, 8
mov %r1, %r6
mov %r2, 0
call 132 # near:
ldxb %r2, [%r7]
# near: call 132
