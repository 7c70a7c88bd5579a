# SPDX-License-Identifier: MIT
# expect: accept
reserve 16
mov %r6, %r0
jeq %r6, 0, out
submit %r6
jeq %r6, 0, out
mov %r0, 1
exit
