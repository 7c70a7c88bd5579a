# SPDX-License-Identifier: MIT
# expect: accept
reserve 16
jeq %r0, 0, out
stdw [%r0+8], 0
mov %r2, 1
lock add [%r0+8], %r2
submit %r0
