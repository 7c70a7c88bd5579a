# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-8], 5
mov %r1, %r10
call local f
ldxdw %r0, [%r0-8]
exit
f:
mov %r0, %r1
exit
