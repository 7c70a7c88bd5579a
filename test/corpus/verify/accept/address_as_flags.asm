# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-8], 1
stdw [%r10-16], 1
stdw [%r10-24], 1
mov %r2, %r10
add %r2, -8
mov %r3, %r10
add %r3, -24
mov %r4, %r10
lddw map %r1, @seen
call 2
mov %r0, 0
exit
