# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
stdw [%r10-8], 0
stdw [%r10-24], 1
stdw [%r10-16], 2
mov %r2, %r10
add %r2, -8
mov %r3, %r10
add %r3, -24
lddw map %r1, @locked
mov %r4, 0
call 2
mov %r0, 0
exit
