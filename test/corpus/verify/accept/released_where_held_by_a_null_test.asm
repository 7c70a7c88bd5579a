# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
mov %r7, 0
ldxw %r8, [%r6+32]
jgt %r8, 4, join
reserve 16
mov %r7, %r0
join:
jeq %r7, 0, out
submit %r7
