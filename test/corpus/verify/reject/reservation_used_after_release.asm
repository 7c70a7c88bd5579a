# SPDX-License-Identifier: MIT
# expect: reject use_after_release 10
reserve 16
jeq %r0, 0, out
mov %r6, %r0
mov %r1, %r6
mov %r2, 0
call 132 # near:
ldxdw %r2, [%r6]
# near: call 132
