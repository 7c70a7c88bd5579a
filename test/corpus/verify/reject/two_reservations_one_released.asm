# SPDX-License-Identifier: MIT
# expect: reject reference_leak 18
reserve 16
jeq %r0, 0, out
mov %r6, %r0
reserve 16
mov %r7, %r0
jeq %r7, 0, one
# near: mov %r1, %r0
# near: mov %r2, 0
# near: call 132
submit %r6
mov %r0, 0
exit
one:
submit %r6
