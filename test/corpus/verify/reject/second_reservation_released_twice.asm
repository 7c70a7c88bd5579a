# SPDX-License-Identifier: MIT
# expect: reject release_twice 19
reserve 16
jeq %r0, 0, out
mov %r6, %r0
reserve 16
mov %r7, %r0
jeq %r7, 0, one
submit %r7
mov %r1, %r7
mov %r2, 0
call 132 # near:
one:
submit %r6
