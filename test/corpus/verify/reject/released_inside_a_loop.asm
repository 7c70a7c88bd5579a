# SPDX-License-Identifier: MIT
# golden
# expect: reject release_twice 10
reserve 16
jeq %r0, 0, out
mov %r6, %r0
mov %r7, 0
again:
submit %r6
add %r7, 1
jlt %r7, 50, again # near: jlt %r7, 1, again
