# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-8], 5
mov %r1, %r10
add %r1, -8
call local f
ldxdw %r0, [%r10-8]
exit
f:
ldxdw %r2, [%r1]
add %r2, 1
stxdw [%r1], %r2
mov %r0, 0
exit
