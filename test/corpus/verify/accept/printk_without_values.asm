# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-8], 0x6869
mov %r1, %r10
add %r1, -8
mov %r2, 3
call 6
mov %r0, 0
exit
