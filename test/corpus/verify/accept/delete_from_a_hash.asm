# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @seen
call 3
mov %r0, 0
exit
