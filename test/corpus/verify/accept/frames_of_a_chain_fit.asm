# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-488], 0
call local f
mov %r0, 0
exit
f:
stdw [%r10-16], 0
exit
