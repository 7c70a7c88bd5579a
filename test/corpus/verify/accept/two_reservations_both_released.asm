# SPDX-License-Identifier: MIT
# expect: accept
reserve 16
jeq %r0, 0, out
mov %r6, %r0
reserve 16
mov %r7, %r0
jeq %r7, 0, one
submit %r6
discard %r7
ja out
one:
submit %r6
