# SPDX-License-Identifier: MIT
# golden
# expect: reject reference_leak 23
reserve 16
jeq %r0, 0, out
mov %r6, %r0
reserve 16
mov %r7, %r0
jeq %r7, 0, one
submit %r6
discard %r7
out:
mov %r0, 0
exit
one:
# near: mov %r1, %r6
# near: mov %r2, 0
# near: call 132
mov %r0, 0
exit
