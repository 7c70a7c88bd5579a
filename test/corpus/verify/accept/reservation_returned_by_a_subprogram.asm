# SPDX-License-Identifier: MIT
# expect: accept
call local f
jeq %r0, 0, out
stdw [%r0], 1
submit %r0
out:
mov %r0, 0
exit
f:
reserve 16
exit
