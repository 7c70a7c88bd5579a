# SPDX-License-Identifier: MIT
# expect: reject release_twice 26
mov %r8, %r1
reserve 16
jeq %r0, 0, out
mov %r6, %r0
reserve 16
mov %r7, %r0
jeq %r7, 0, one
ldxw %r9, [%r8+32]
jgt %r9, 4, other
submit %r6
ja join
other:
submit %r7 # near: submit %r6
join:
submit %r7
ja out
one:
submit %r6
