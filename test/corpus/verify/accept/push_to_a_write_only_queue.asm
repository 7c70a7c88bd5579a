# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-8], 7
lddw map %r1, @outbox
mov %r2, %r10
add %r2, -8
mov %r3, 0
call 87
mov %r0, 0
exit
