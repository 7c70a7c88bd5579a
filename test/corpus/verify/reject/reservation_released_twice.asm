# SPDX-License-Identifier: MIT
# expect: reject release_twice 12
reserve 16
jeq %r0, 0, out
mov %r6, %r0
submit %r6
mov %r1, %r6
mov %r2, 0
call 133 # near:
